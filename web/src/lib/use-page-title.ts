import { useEffect } from "react";

/** Names the browser's tab: `chain-sum-grpo · Swell`. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Swell`;
  }, [title]);
}
