/** Which step the page shows: the chosen one, otherwise the newest, followed at a pace that can be read. */
import { useEffect, useRef, useState } from "react";

/** Steps may come many times a second; each costs requests, and a picture that changes faster is not read. */
const PACE_MS = 1000;

export function usePacedStep(chosen: number | undefined, newest: number): number {
  const [followed, setFollowed] = useState(newest);
  const changedAt = useRef(0);
  useEffect(() => {
    if (newest === followed) return;
    const wait = Math.max(0, changedAt.current + PACE_MS - Date.now());
    const timer = setTimeout(() => {
      changedAt.current = Date.now();
      setFollowed(newest);
    }, wait);
    return () => clearTimeout(timer);
  }, [newest, followed]);
  return chosen ?? followed;
}
