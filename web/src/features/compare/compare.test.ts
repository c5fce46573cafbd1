import { expect, test } from "vitest";
import { parseCompareSearch } from "./compare-search";
import { shortNames } from "./short-names";
import { specTable } from "./spec-table";

test("names lose what they share, up to a separator", () => {
  expect(shortNames(["qwen-math-all", "qwen-math-adaptive"])).toEqual(["all", "adaptive"]);
  expect(shortNames(["qwen-math", "qwen-math-b"])).toEqual(["math", "math-b"]);
  expect(shortNames(["alone"])).toEqual(["alone"]);
  expect(shortNames([])).toEqual([]);
});

test("runs of one name are told apart", () => {
  expect(shortNames(["demo", "demo", "demo"])).toEqual(["demo", "demo (2)", "demo (3)"]);
});

test("only fields that differ, each against the first run", () => {
  const specs = [
    { name: "a", batch: { type: "all" }, seed: 1 },
    { name: "b", batch: { type: "fixed", global_batch_size: 8 }, seed: 1 },
  ];
  const { rows, numFields, numDifferent } = specTable(specs, false);
  expect(rows).toEqual([
    { path: "batch.type", values: ["all", "fixed"], isSame: [true, false] },
    { path: "batch.global_batch_size", values: ["", "8"], isSame: [true, false] },
  ]);
  expect([numFields, numDifferent, specTable(specs, true).rows.length]).toEqual([3, 2, 3]);
});

test("at most twenty runs, each once, and only known ones are hidden", () => {
  const runs = Array.from({ length: 30 }, (_, i) => `r${i}`);
  expect(parseCompareSearch({ runs: ["a", "a", "b"], hidden: ["b", "c"] })).toEqual({
    runs: ["a", "b"],
    hidden: ["b"],
  });
  expect(parseCompareSearch({ runs }).runs).toHaveLength(20);
  expect(parseCompareSearch({ runs: "a", x: "step", from: 3, to: 1, rl: false })).toEqual({});
  expect(parseCompareSearch({ runs: ["a"], rl: true })).toEqual({ runs: ["a"], rl: true });
});
