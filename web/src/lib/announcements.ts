/** Short messages that are shown for a moment and spoken politely. The toast component shows them. */
import { useSyncExternalStore } from "react";

const SHOWN_MS = 4000;
/** As long as something can be taken back. */
const WITH_ACTION_MS = 8000;

export interface Announcement {
  text: string;
  action: { label: string; act: () => void } | null;
  /** When it goes, in ms since 1970. */
  endsAt: number;
}

let current: Announcement | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;
const listeners = new Set<() => void>();

function set(next: Announcement | null): void {
  current = next;
  for (const listener of listeners) listener();
}

/** Shows the text for 4 s, in place of an earlier one; with something to do about it for 8 s. */
export function announce(text: string, action: Announcement["action"] = null): void {
  if (timer !== null) clearTimeout(timer);
  const shownMs = action ? WITH_ACTION_MS : SHOWN_MS;
  set({ text, action, endsAt: Date.now() + shownMs });
  timer = setTimeout(() => set(null), shownMs);
}

/** Does what the announcement of the moment offers, once; false where it offers nothing. */
export function takeAction(): boolean {
  const action = current?.action;
  if (!action) return false;
  if (timer !== null) clearTimeout(timer);
  set(null);
  action.act();
  return true;
}

export function announcement(): Announcement | null {
  return current;
}

export function useAnnouncement(): Announcement | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, announcement);
}
