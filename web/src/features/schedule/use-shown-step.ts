/** Which step the page shows: the chosen one, otherwise the newest, followed at a pace that can be read. */
import { useEffect, useRef, useState } from "react";

/** Steps may come many times a second; each costs two requests. */
const PACE_MS = 500;

export function useShownStep(chosen: number | undefined, newest: number | null): number | null {
  const followed = usePaced(newest);
  return chosen ?? followed;
}

function usePaced(value: number | null): number | null {
  const [shown, setShown] = useState(value);
  const changedAt = useRef(0);
  useEffect(() => {
    if (value === shown) return;
    const wait = Math.max(0, changedAt.current + PACE_MS - Date.now());
    const timer = setTimeout(() => {
      changedAt.current = Date.now();
      setShown(value);
    }, wait);
    return () => clearTimeout(timer);
  }, [value, shown]);
  return shown;
}
