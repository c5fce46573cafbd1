/** The lines that a reader has before them: one unbroken stretch of the log, paged in at both ends. Pure. */
import type { LogLine, LogPage } from "@/api/types";

export interface LogWindow {
  /** By id, from the oldest on. */
  lines: readonly LogLine[];
  /** Older lines have lower ids than this; null: there are none. */
  before: number | null;
  /** Newer lines have higher ids than this. */
  after: number;
  /** Whether there are newer ones already. */
  hasAfter: boolean;
}

export const NO_LINES: LogWindow = { lines: [], before: null, after: 0, hasAfter: false };

/** More lines than this are let go at the far end; they can be asked for again. */
export const MOST_LINES = 120_000;

/** The stretch of one page: the newest lines. */
export function windowOf(page: LogPage): LogWindow {
  return { lines: page.items, before: page.next_before, after: page.next_after, hasAfter: page.has_newer };
}

/** Older lines before the first one. */
export function withOlder(window: LogWindow, page: LogPage): LogWindow {
  const first = window.lines[0]?.id ?? Number.POSITIVE_INFINITY;
  const lines = [...page.items.filter(({ id }) => id < first), ...window.lines];
  const grown = { ...window, lines, before: page.next_before };
  if (lines.length <= MOST_LINES) return grown;
  const kept = lines.slice(0, MOST_LINES);
  return { ...grown, lines: kept, after: kept.at(-1)?.id ?? window.after, hasAfter: true };
}

/** Newer lines after the last one. What is there already is left out: a page may be asked for twice. */
export function withNewer(window: LogWindow, page: LogPage): LogWindow {
  const last = window.lines.at(-1)?.id ?? -1;
  const fresh = page.items.filter(({ id }) => id > last);
  const lines = fresh.length === 0 ? window.lines : [...window.lines, ...fresh];
  const grown = { ...window, lines, after: page.next_after, hasAfter: page.has_newer };
  if (lines.length <= MOST_LINES) return grown;
  const kept = lines.slice(lines.length - MOST_LINES);
  return { ...grown, lines: kept, before: kept[0]?.id ?? null };
}

const MOMENTS = new WeakMap<LogLine, number>();

function momentOf(line: LogLine): number {
  let moment = MOMENTS.get(line);
  if (moment === undefined) {
    moment = Date.parse(line.at);
    MOMENTS.set(line, moment);
  }
  return moment;
}

function compare(a: LogLine, b: LogLine): number {
  return a.attempt - b.attempt || momentOf(a) - momentOf(b) || a.id - b.id;
}

/** The lines as they were written. Processes send theirs in batches, so that those of two arrive out of this order. */
export function inTimeOrder(lines: readonly LogLine[]): readonly LogLine[] {
  const isOrdered = lines.every((line, i) => i === 0 || compare(lines[i - 1] as LogLine, line) <= 0);
  return isOrdered ? lines : [...lines].sort(compare);
}

/** Index of the line with this id, or of the first one after it; -1: all lie before. */
export function indexOf(lines: readonly LogLine[], id: number): number {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lines[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low < lines.length ? low : -1;
}

/** Whether a line with this id would stand between the first and the last that are there. */
export function holds({ lines, before, hasAfter }: LogWindow, id: number): boolean {
  const [first, last] = [lines[0]?.id, lines.at(-1)?.id];
  if (first === undefined || last === undefined) return false;
  return (id >= first || before === null) && (id <= last || !hasAfter);
}
