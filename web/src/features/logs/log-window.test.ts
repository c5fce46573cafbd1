import { expect, test } from "vitest";
import { line } from "./factories";
import { holds, indexOf, type LogWindow, MOST_LINES, NO_LINES, withNewer, withOlder } from "./log-window";

function windowOf(...ids: number[]): LogWindow {
  return { lines: ids.map((id) => line(id)), hasBefore: true, hasAfter: true };
}

function ids(window: LogWindow): number[] {
  return window.lines.map(({ id }) => id);
}

test("pages join at both ends without a double", () => {
  const window = windowOf(10, 11);
  expect(ids(withOlder(window, [line(8), line(9), line(10)], false))).toEqual([8, 9, 10, 11]);
  expect(ids(withNewer(window, [line(11), line(14)], true))).toEqual([10, 11, 14]);
  expect(withNewer(window, [line(11)], true)).toBe(window);
  expect(ids(withNewer(NO_LINES, [line(3)], false))).toEqual([3]);
});

test("too many lines are let go at the far end and may come again", () => {
  const full: LogWindow = {
    lines: Array.from({ length: MOST_LINES }, (_, i) => line(i + 5)),
    hasBefore: false,
    hasAfter: false,
  };
  const newer = withNewer(full, [line(MOST_LINES + 5)], false);
  expect([newer.lines.length, newer.lines[0]?.id, newer.hasBefore]).toEqual([MOST_LINES, 6, true]);
  const older = withOlder(full, [line(4)], true);
  expect([older.lines.length, older.lines.at(-1)?.id, older.hasAfter]).toEqual([
    MOST_LINES,
    MOST_LINES + 3,
    true,
  ]);
});

test("a line is found by its id, and a gap by the line after it", () => {
  const { lines } = windowOf(2, 4, 9);
  expect([1, 2, 5, 9, 10].map((id) => indexOf(lines, id))).toEqual([0, 0, 2, 2, -1]);
  expect([1, 3, 10].map((id) => holds(windowOf(2, 4, 9), id))).toEqual([false, true, false]);
  expect(holds({ ...windowOf(2, 4), hasBefore: false }, 1)).toBe(true);
});
