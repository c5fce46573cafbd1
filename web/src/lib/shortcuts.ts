/** Keys of the whole page. None is taken while somebody types, and all single-letter keys can be switched off. */
import { useEffect, useRef, useSyncExternalStore } from "react";

/** By key as the browser names it (`j`, `/`, `Enter`), or two keys in a row (`g r`). */
export type Shortcuts = Record<string, (event: KeyboardEvent) => void>;

const KEY = "swell.shortcuts";
const SEQUENCE_MS = 1000;
const listeners = new Set<() => void>();

function readIsOn(): boolean {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

let isOn = readIsOn();

export function setShortcutsOn(next: boolean): void {
  isOn = next;
  try {
    localStorage.setItem(KEY, next ? "on" : "off");
  } catch {
    // Storage is closed: the choice lasts as long as the page.
  }
  for (const listener of listeners) listener();
}

export function useShortcutsOn(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isOn,
  );
}

/** Whether a key that was pressed here belongs to a field or a dialog rather than to the page. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog[open]")) return true;
  return target.isContentEditable || target.matches("input:not([type=checkbox]), textarea, select");
}

/** Enter and Space on a button or link are that control's own. */
function isControlsOwn(event: KeyboardEvent): boolean {
  const isPress = event.key === "Enter" || event.key === " ";
  return (
    isPress && event.target instanceof HTMLElement && event.target.closest("a, button, [role=grid]") !== null
  );
}

let prefix: { key: string; at: number } | null = null;

/** Takes these keys while the component is mounted. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      // The path begins inside a shadow root, where the target is only its host.
      if (isTyping(event.composedPath()[0] ?? null) || isControlsOwn(event)) return;
      if (!isOn && event.key.length === 1) return;
      const first = prefix && event.timeStamp - prefix.at < SEQUENCE_MS ? prefix.key : null;
      const action =
        (first && latest.current[`${first} ${event.key}`]) || (!first && latest.current[event.key]);
      if (!action) return;
      event.preventDefault();
      action(event);
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** Remembers the first key of a sequence. After the listeners of `useShortcuts`, so that they see the one before. */
export function followSequences(): () => void {
  const onKeyUp = (event: KeyboardEvent) => {
    if (event.key === "g" && !isTyping(event.composedPath()[0] ?? null))
      prefix = { key: "g", at: event.timeStamp };
    else if (event.key.length === 1) prefix = null;
  };
  window.addEventListener("keyup", onKeyUp);
  return () => window.removeEventListener("keyup", onKeyUp);
}
