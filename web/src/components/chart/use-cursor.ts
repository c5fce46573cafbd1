import { useSyncExternalStore } from "react";
import type { ChartGroup } from "./chart-group";

/** The x under the cursor, for the few parts that show it in words. Charts follow it without React. */
export function useCursor(group: ChartGroup): number | null {
  return useSyncExternalStore(
    (listener) => group.onCursor(listener),
    () => group.cursor,
  );
}
