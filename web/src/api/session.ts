/** Whether this browser is signed in. Known from answers only: the cookie is not readable by scripts. */
import { useSyncExternalStore } from "react";

let isOut = false;
const listeners = new Set<() => void>();

/** Called where any request is answered 401. A new login loads the page anew, so there is no way back. */
export function signOut(): void {
  isOut = true;
  for (const listener of listeners) listener();
}

export function useIsSignedOut(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isOut,
  );
}
