/** The lines that a reader has before them: one unbroken stretch of the log, paged in at both ends. Pure. */

/** One line, or one traceback, as the API gives it. */
export interface LogEntry {
  /** Grows with each line that the server takes; a link names it. */
  id: number;
  attempt: number;
  source: string;
  number: number;
  at: string;
  level: "debug" | "info" | "warning" | "error";
  text: string;
}

export interface LogWindow {
  /** By id, from the oldest on. */
  lines: readonly LogEntry[];
  hasBefore: boolean;
  hasAfter: boolean;
}

export const NO_LINES: LogWindow = { lines: [], hasBefore: false, hasAfter: false };

/** More lines than this are let go at the far end; they can be asked for again. */
export const MOST_LINES = 120_000;

/** Older lines before the first one. */
export function withOlder(window: LogWindow, older: readonly LogEntry[], hasBefore: boolean): LogWindow {
  const first = window.lines[0]?.id ?? Number.POSITIVE_INFINITY;
  const fresh = older.filter(({ id }) => id < first);
  const lines = [...fresh, ...window.lines];
  if (lines.length <= MOST_LINES) return { ...window, lines, hasBefore };
  return { lines: lines.slice(0, MOST_LINES), hasBefore, hasAfter: true };
}

/** Newer lines after the last one. What is there already is left out: a page may be asked for twice. */
export function withNewer(window: LogWindow, newer: readonly LogEntry[], hasAfter: boolean): LogWindow {
  const last = window.lines.at(-1)?.id ?? -1;
  const fresh = newer.filter(({ id }) => id > last);
  if (fresh.length === 0 && window.hasAfter === hasAfter) return window;
  const lines = [...window.lines, ...fresh];
  if (lines.length <= MOST_LINES) return { ...window, lines, hasAfter };
  return { lines: lines.slice(lines.length - MOST_LINES), hasBefore: true, hasAfter };
}

/** Index of the line with this id, or of the first one after it; -1: all lie before. */
export function indexOf(lines: readonly LogEntry[], id: number): number {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lines[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low < lines.length ? low : -1;
}

/** Whether a line with this id would stand between the first and the last that are there. */
export function holds({ lines, hasBefore, hasAfter }: LogWindow, id: number): boolean {
  const [first, last] = [lines[0]?.id, lines.at(-1)?.id];
  if (first === undefined || last === undefined) return false;
  return (id >= first || !hasBefore) && (id <= last || !hasAfter);
}
