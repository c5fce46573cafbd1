/** One clock for the page. Components that show ages ask for it at the pace that they need. */
import { useSyncExternalStore } from "react";

const TICK_MS = 1000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

/** Now in ms since 1970, rounded down to the pace, so that a component renders only when its text can change. */
export function useNow(paceMs: number): number {
  return useSyncExternalStore(subscribe, () => Math.floor(Date.now() / paceMs) * paceMs);
}
