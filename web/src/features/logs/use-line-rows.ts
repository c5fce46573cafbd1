/** The rows of the lines as far as they are drawn; near an end of them the next page is asked for. */
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect } from "react";
import type { LogLine } from "@/api/types";
import type { LogReader } from "./log-reader";
import type { LogWindow } from "./log-window";
import { AT_END_PX } from "./use-log-end";

const ROW_PX = 21;
const OVERSCAN = 30;
/** So many rows from an end the next page is asked for. */
const NEAR_END = 120;

export type LineRows = Virtualizer<HTMLElement, Element>;

export function useLineRows(
  scroller: RefObject<HTMLElement | null>,
  lines: readonly LogLine[],
  { reader, window, isFollowed }: { reader: LogReader; window: LogWindow; isFollowed: boolean },
): LineRows {
  const rows: LineRows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    getItemKey: (i) => lines[i]?.id ?? i,
    anchorTo: "end",
    followOnAppend: isFollowed,
    scrollEndThreshold: AT_END_PX,
  });
  const items = rows.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => {
    if (window.before !== null && first < NEAR_END) void reader.older();
    if (window.hasAfter && last > lines.length - NEAR_END) void reader.newer();
  }, [reader, window, first, last, lines.length]);
  return rows;
}
