/** The way to a line, or to the end: it may have to be read first, then it is scrolled to. */
import { useCallback, useEffect, useRef } from "react";
import type { LogLine } from "@/api/types";
import type { LogReader } from "./log-reader";
import { holds, indexOf, type LogWindow } from "./log-window";
import type { LineRows } from "./use-line-rows";

export interface LogLinesHandle {
  goTo: (line: number) => void;
  goToEnd: () => void;
}

export interface LinePlace {
  reader: LogReader;
  window: LogWindow;
  /** Those of the window in the order of their times. */
  lines: readonly LogLine[];
  /** The line that is pointed to. */
  line: number | null;
  onLine: (line: number | undefined) => void;
}

export function useLinePlace(rows: LineRows, place: LinePlace): LogLinesHandle {
  const { reader, window, lines, line, onLine } = place;
  const wanted = useRef<number | "end" | null>(line ?? "end");
  useEffect(() => {
    if (wanted.current === null || lines.length === 0) return;
    if (wanted.current === "end") {
      if (window.hasAfter) return;
      rows.scrollToEnd();
    } else {
      if (!holds(window, wanted.current)) return;
      const id = window.lines[indexOf(window.lines, wanted.current)]?.id;
      const index = lines.findIndex((entry) => entry.id === id);
      rows.scrollToIndex(index === -1 ? lines.length - 1 : index, { align: "center" });
    }
    wanted.current = null;
  });
  const goTo = useCallback(
    (id: number) => {
      wanted.current = id;
      onLine(id);
      if (!holds(reader.state.window, id)) void reader.open(id);
    },
    [reader, onLine],
  );
  const goToEnd = useCallback(() => {
    wanted.current = "end";
    // Who goes on with the newest lines is done with what was selected.
    getSelection()?.removeAllRanges();
    onLine(undefined);
    if (reader.state.window.hasAfter) void reader.open(null);
    else rows.scrollToEnd();
  }, [reader, rows, onLine]);
  return { goTo, goToEnd };
}
