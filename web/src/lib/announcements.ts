/** Short messages that are shown for a moment and spoken politely. The toast component shows them. */
import { useSyncExternalStore } from "react";

const SHOWN_MS = 4000;

let message: string | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;
const listeners = new Set<() => void>();

function set(next: string | null): void {
  message = next;
  for (const listener of listeners) listener();
}

/** Shows the text for 4 s, in place of an earlier one. */
export function announce(text: string): void {
  if (timer !== null) clearTimeout(timer);
  set(text);
  timer = setTimeout(() => set(null), SHOWN_MS);
}

export function useAnnouncement(): string | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => message,
  );
}
