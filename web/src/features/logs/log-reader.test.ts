import { expect, test } from "vitest";
import { line, page } from "./factories";
import { findHits, nextHit } from "./log-hits";
import { countAfter, type FetchLogPage, LogReader } from "./log-reader";

/** A log of `count` lines that may grow, paged as the server does it; `looksAt` lines at most for a page. */
function logOf(count: number, matches: (id: number) => boolean = () => true, looksAt = 1e9) {
  const lines = Array.from({ length: count }, (_, i) => line(i + 1));
  const asked: string[] = [];
  const fetchPage: FetchLogPage = async ({ before, after, limit }) => {
    asked.push(before !== undefined ? `<${before}` : after !== undefined ? `>${after}` : "tail");
    const newest = lines.length;
    if (after !== undefined) {
      const found = lines.filter(({ id }) => id > after && matches(id));
      const shown = found.slice(0, limit);
      const hasMore = found.length > limit;
      return page(shown, { next_after: hasMore ? (shown.at(-1)?.id ?? 0) : newest, has_newer: hasMore });
    }
    const start = (before ?? newest + 1) - 1;
    const floor = Math.max(1, start - looksAt + 1);
    const found = lines.filter(({ id }) => id <= start && id >= floor && matches(id));
    const shown = found.slice(-limit);
    const next = found.length > limit ? (shown[0]?.id ?? null) : floor > 1 ? floor : null;
    return page(shown, { next_before: next, next_after: newest, has_newer: before !== undefined });
  };
  const grow = (by: number) => {
    for (let i = 0; i < by; i += 1) lines.push(line(lines.length + 1));
  };
  return { asked, fetchPage, grow };
}

test("reading begins at the end, goes back page by page, and takes what comes", async () => {
  const log = logOf(1200);
  const reader = new LogReader(log.fetchPage);
  await reader.open(null);
  expect(reader.state.window.lines[0]?.id).toBe(701);
  await reader.older();
  await reader.older();
  expect([reader.state.window.lines.length, reader.state.window.before]).toEqual([1200, null]);
  await reader.older();
  log.grow(700);
  await reader.newer(true);
  expect(reader.state.window.lines.at(-1)?.id).toBe(1900);
  expect(log.asked).toEqual(["tail", "<701", "<201", ">1200", ">1700"]);
});

test("reading begins around a line that a link points to", async () => {
  const reader = new LogReader(logOf(3000).fetchPage);
  await reader.open(1500);
  const { lines, before, hasAfter } = reader.state.window;
  expect([lines[0]?.id, lines.at(-1)?.id, before, hasAfter]).toEqual([1000, 1999, 1000, true]);
  await reader.open(1);
  expect([reader.state.window.lines[0]?.id, reader.state.window.before]).toEqual([1, null]);
});

test("pages that found nothing are passed until something is found, or the log begins", async () => {
  const log = logOf(5000, (id) => id < 100, 1000);
  const reader = new LogReader(log.fetchPage);
  await reader.open(null);
  expect([reader.state.window.lines.length, log.asked.length]).toEqual([99, 5]);
  const none = new LogReader(logOf(5000, () => false, 1000).fetchPage);
  await none.open(null);
  expect([none.state.window.lines.length, none.state.isLoading]).toEqual([0, false]);
});

test("being told of lines while asking for some asks once more", async () => {
  const log = logOf(1);
  const reader = new LogReader(log.fetchPage);
  await reader.open(null);
  const asking = reader.newer();
  log.grow(1);
  void reader.newer();
  await asking;
  expect(reader.state.window.lines).toHaveLength(2);
});

test("a page that fails is told, and what was read stays", async () => {
  let fails = false;
  const log = logOf(600);
  const reader = new LogReader((request, signal) =>
    fails ? Promise.reject(new Error("503")) : log.fetchPage(request, signal),
  );
  await reader.open(null);
  fails = true;
  await reader.older();
  expect([reader.state.error?.message, reader.state.window.lines.length]).toEqual(["503", 500]);
  fails = false;
  await reader.older();
  expect([reader.state.error, reader.state.window.lines.length]).toEqual([null, 600]);
});

test("hits are counted over the whole log, as far as that is of use", async () => {
  const { signal } = new AbortController();
  const all = await findHits(logOf(5000, (id) => id % 10 === 0, 1000).fetchPage, signal);
  expect([all.ids.length, all.ids[0], all.isCut]).toEqual([500, 10, false]);
  const cut = await findHits(logOf(30_000).fetchPage, signal);
  expect([cut.ids.length, cut.isCut]).toEqual([10_000, true]);
});

test("hits go round", () => {
  expect(nextHit([3, 7, 9], 7, 1)).toBe(9);
  expect(nextHit([3, 7, 9], 9, 1)).toBe(3);
  expect(nextHit([3, 7, 9], 3, -1)).toBe(9);
  expect(nextHit([3, 7, 9], 8, -1)).toBe(7);
  expect(nextHit([3, 7, 9], null, -1)).toBe(9);
  expect(nextHit([], 3, 1)).toBeNull();
  expect(countAfter([line(3), line(7), line(9)], 5)).toBe(2);
  expect(countAfter([line(3)], 3)).toBe(0);
});
