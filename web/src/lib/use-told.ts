import { useEffect } from "react";

/** Tells whoever asks whether something is so, from when it is until it is no more or its part of the page is gone. `tell`
 * must stay the same function. */
export function useTold(isSo: boolean, tell: (isSo: boolean) => void): void {
  useEffect(() => {
    if (!isSo) return;
    tell(true);
    return () => tell(false);
  }, [isSo, tell]);
}
