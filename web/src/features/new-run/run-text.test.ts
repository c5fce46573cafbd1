import { expect, test } from "vitest";
import { nextName, runText } from "./run-text";

const SPEC = {
  name: "sums",
  batch: { type: "fixed", global_batch_size: 64, remainder: "partial" },
  schedule: { token_cap: 4096, micro_batch_size: null, balance: "cost" },
  reward: [{ type: "math", weight: 1 }],
  warm_start: null,
};

test("blocks of plain values stand in one line, and what is not set is left out", () => {
  expect(runText(SPEC, {})).toBe(
    [
      "name: sums-2",
      "batch: {type: fixed, global_batch_size: 64, remainder: partial}",
      "schedule: {token_cap: 4096, balance: cost}",
      "reward:",
      "  - {type: math, weight: 1}",
      "",
    ].join("\n"),
  );
});

test("changes stand at their place, also where nothing was written", () => {
  const text = runText(SPEC, { dp: 4, token_cap: 2048, balance: "tokens" });
  expect(text).toContain("schedule: {token_cap: 2048, balance: tokens}");
  expect(text).toContain("parallelism: {dp: 4}");
});

test("a cut by samples takes the place of the cap", () => {
  const text = runText(SPEC, { micro_batch_size: 8 });
  expect(text).toContain("schedule: {micro_batch_size: 8, balance: cost}");
});

test("a long block stands a field a line", () => {
  const long = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`field_${i}`, i]));
  expect(runText({ model: long }, {})).toContain("model:\n  field_0: 0\n  field_1: 1\n");
});

test("a clone is called after its parent, and not the same", () => {
  expect(["demo", "demo-2", "qwen3-4b", "run-9", "a-0", "x-20261130"].map(nextName)).toEqual([
    "demo-2",
    "demo-3",
    "qwen3-4b-2",
    "run-10",
    "a-0-2",
    "x-20261130-2",
  ]);
});
