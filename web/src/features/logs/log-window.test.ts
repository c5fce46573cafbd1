import { expect, test } from "vitest";
import { line, page } from "./factories";
import {
  holds,
  indexOf,
  inTimeOrder,
  type LogWindow,
  MOST_LINES,
  NO_LINES,
  withNewer,
  withOlder,
} from "./log-window";

function windowWith(...ids: number[]): LogWindow {
  return { lines: ids.map((id) => line(id)), before: ids[0] ?? null, after: ids.at(-1) ?? 0, hasAfter: true };
}

function ids(window: LogWindow): number[] {
  return window.lines.map(({ id }) => id);
}

test("pages join at both ends without a double", () => {
  const window = windowWith(10, 11);
  const older = withOlder(window, page([line(8), line(9), line(10)], { next_before: 8 }));
  expect([ids(older), older.before]).toEqual([[8, 9, 10, 11], 8]);
  const newer = withNewer(window, page([line(11), line(14)]));
  expect([ids(newer), newer.after, newer.hasAfter]).toEqual([[10, 11, 14], 14, false]);
  expect(ids(withNewer(NO_LINES, page([line(3)])))).toEqual([3]);
});

test("an empty page moves the cursor and nothing else", () => {
  const window = windowWith(10, 11);
  const older = withOlder(window, page([], { next_before: 4 }));
  expect([older.lines.length, older.before]).toEqual([2, 4]);
  const newer = withNewer(window, page([], { next_after: 90, has_newer: true }));
  expect(newer.lines).toBe(window.lines);
  expect([newer.after, newer.hasAfter]).toEqual([90, true]);
});

test("too many lines are let go at the far end and may come again", () => {
  const lines = Array.from({ length: MOST_LINES }, (_, i) => line(i + 5));
  const full: LogWindow = { lines, before: null, after: MOST_LINES + 4, hasAfter: false };
  const newer = withNewer(full, page([line(MOST_LINES + 5)]));
  expect([newer.lines.length, newer.lines[0]?.id, newer.before]).toEqual([MOST_LINES, 6, 6]);
  const older = withOlder(full, page([line(4)]));
  expect([older.lines.length, older.after, older.hasAfter]).toEqual([MOST_LINES, MOST_LINES + 3, true]);
});

test("a line is found by its id, and a gap by the line after it", () => {
  const { lines } = windowWith(2, 4, 9);
  expect([1, 2, 5, 9, 10].map((id) => indexOf(lines, id))).toEqual([0, 0, 2, 2, -1]);
  expect([1, 3, 10].map((id) => holds(windowWith(2, 4, 9), id))).toEqual([false, true, false]);
  expect(holds({ ...windowWith(2, 4), before: null }, 1)).toBe(true);
});

test("lines of several processes stand as they were written, attempt by attempt", () => {
  const at = (seconds: number) => new Date(Date.parse("2026-11-12T10:52:00Z") + seconds * 1000).toISOString();
  const lines = [
    line(1, "a", { at: at(5), source: "driver" }),
    line(2, "b", { at: at(3), source: "rank 1" }),
    line(3, "c", { at: at(5), source: "rank 1" }),
    line(4, "d", { at: at(1), attempt: 2 }),
  ];
  expect(inTimeOrder(lines).map(({ text }) => text)).toEqual(["b", "a", "c", "d"]);
  const ordered = [line(1), line(2)];
  expect(inTimeOrder(ordered)).toBe(ordered);
});
