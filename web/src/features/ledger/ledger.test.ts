import { expect, test } from "vitest";
import type { LedgerEntry } from "@/api/types";
import { booksOf } from "./accounts";
import { findingOf } from "./finding";
import { flowLayout } from "./flow-layout";
import { parseLedgerSearch } from "./ledger-search";

const ENTRY: LedgerEntry = {
  first_iteration: 0,
  last_iteration: 3,
  first_step: 0,
  num_iterations: 4,
  num_carried_in: 16,
  num_generated: 1024,
  num_trained: 640,
  filtered: { zero_variance: 384 },
  dropped: { remainder: 8 },
  num_carried_out: 8,
};

test("everything that comes in goes out by its reason", () => {
  const { ins, outs, numIn, numOut } = booksOf(ENTRY);
  expect([numIn, numOut]).toEqual([1040, 1040]);
  expect(ins.map(({ label, count }) => [label, count])).toEqual([
    ["Carried in", 16],
    ["Generated", 1024],
  ]);
  expect(outs.map(({ label, count }) => [label, count])).toEqual([
    ["Trained", 640],
    ["Filtered: zero variance", 384],
    ["Dropped: remainder", 8],
    ["Carried out", 8],
  ]);
});

test("rows of a table have the columns of the whole, also where they count nothing", () => {
  const row = booksOf({ ...ENTRY, filtered: {}, dropped: {} }, ENTRY);
  expect(row.outs.map(({ count }) => count)).toEqual([640, 0, 0, 8]);
});

test("bands are as high as their share, and their labels never overlap", () => {
  const layout = flowLayout(booksOf(ENTRY));
  const bar = layout.outs.map(({ barHeight }) => barHeight);
  expect(bar.reduce((sum, height) => sum + height, 0)).toBeCloseTo(layout.bar.height);
  expect((bar[0] ?? 0) / layout.bar.height).toBeCloseTo(640 / 1040);
  for (const side of [layout.ins, layout.outs]) {
    const middles = side.map(({ top, height }) => top + height / 2);
    middles.slice(1).forEach((middle, i) => {
      expect(middle - (middles[i] ?? 0)).toBeGreaterThanOrEqual(34);
    });
    const last = side.at(-1);
    expect((last?.top ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(layout.height);
  }
});

test("the sides of unbalanced books differ in height at the bar", () => {
  const layout = flowLayout(booksOf({ ...ENTRY, num_trained: 0 }));
  const high = layout.outs.reduce((sum, { barHeight }) => sum + barHeight, 0);
  expect(high).toBeLessThan(layout.bar.height / 2);
});

test("the finding names the share that was trained and what took most of the rest", () => {
  expect(findingOf(booksOf(ENTRY)).replaceAll("\u00a0", " ")).toBe(
    "61.5% of the rollouts were trained. Most of the others were filtered: zero variance, 36.9%.",
  );
  const oneReason = { ...ENTRY, num_carried_in: 0, dropped: {}, num_carried_out: 0 };
  expect(findingOf(booksOf(oneReason))).toBe(
    "62.5% of the rollouts were trained. The others were filtered: zero variance, 37.5%.",
  );
  expect(
    findingOf(
      booksOf({
        ...ENTRY,
        num_carried_in: 0,
        num_generated: 640,
        filtered: {},
        dropped: {},
        num_carried_out: 0,
      }),
    ),
  ).toBe("All rollouts were trained.");
});

test.each<[Record<string, unknown>, object]>([
  [
    { from: 3, to: 9 },
    { from: 3, to: 9 },
  ],
  [{ from: 9, to: 3 }, { from: 9 }],
  [{ from: -1, to: "x" }, {}],
])("the address %o shows %o", (raw, search) => {
  expect(parseLedgerSearch(raw)).toEqual(search);
});
