import { expect, test } from "vitest";
import { runText } from "./run-text";

const SPEC = {
  name: "sums",
  batch: { type: "fixed", global_batch_size: 64, remainder: "partial" },
  schedule: { token_cap: 4096, micro_batch_size: null, balance: "cost" },
  reward: [{ type: "math", weight: 1 }],
  warm_start: null,
};

test("blocks of plain values stand in one line, and what is not set is left out", () => {
  expect(runText(SPEC, "sums-7", {})).toBe(
    [
      "name: sums-7",
      "batch: {type: fixed, global_batch_size: 64, remainder: partial}",
      "schedule: {token_cap: 4096, balance: cost}",
      "reward:",
      "  - {type: math, weight: 1}",
      "",
    ].join("\n"),
  );
});

test("changes stand at their place, also where nothing was written", () => {
  const text = runText(SPEC, "sums-7", { dp: 4, token_cap: 2048, balance: "tokens" });
  expect(text).toContain("schedule: {token_cap: 2048, balance: tokens}");
  expect(text).toContain("parallelism: {dp: 4}");
});

test("a cut by samples takes the place of the cap", () => {
  const text = runText(SPEC, "sums-7", { micro_batch_size: 8 });
  expect(text).toContain("schedule: {micro_batch_size: 8, balance: cost}");
});

test("a long block stands a field a line", () => {
  const long = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`field_${i}`, i]));
  expect(runText({ model: long }, "long", {})).toContain("model:\n  field_0: 0\n  field_1: 1\n");
});
