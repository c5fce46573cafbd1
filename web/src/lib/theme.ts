/** Light, dark, or what the system says. The choice is kept; public/theme.js applies it before the first paint. */
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const KEY = "swell.theme";
const listeners = new Set<() => void>();
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function notify(): void {
  for (const listener of listeners) listener();
}

systemIsDark.addEventListener("change", notify);

export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return systemIsDark.matches ? "dark" : "light";
}

/** Changes to the other theme; where that is the system's own, follows the system again. */
export function toggleTheme(): void {
  const next: Theme = currentTheme() === "dark" ? "light" : "dark";
  const isSystems = (next === "dark") === systemIsDark.matches;
  if (isSystems) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    if (isSystems) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // Storage is closed: the choice lasts as long as the page.
  }
  notify();
}

/** Calls back after every change, the system's included. Canvas code reads its tokens again then. */
export function subscribeTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribeTheme, currentTheme);
}
