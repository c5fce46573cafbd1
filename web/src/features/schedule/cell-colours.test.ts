import { expect, test } from "vitest";
import { colourChoices, colourScale } from "./cell-colours";
import { schedule } from "./factories";

test("tokens are coloured up to the cap, and above it no darker", () => {
  const { index, high } = colourScale(schedule([[[1, 50, 99, 300]]]), "tokens", 7);
  expect(index).toEqual([0, 3, 6, 6]);
  expect(high).toBe("100 tokens (cap) and over");
});

test("where all samples are far below the cap the longest ends the scale", () => {
  const { index, high } = colourScale(schedule([[[10, 20]]], { token_cap: 2048 }), "tokens", 7);
  expect(index).toEqual([3, 6]);
  expect(high).toBe("20 tokens");
});

test("a reward is coloured against the mean of its group", () => {
  const one = schedule([[[10, 10, 10, 10]]]);
  const rewards = { ...one.samples, reward: [0, 1, 1, 1] };
  const { kind, index } = colourScale({ ...one, samples: rewards }, "reward", 7);
  expect(kind).toBe("div");
  expect(index).toEqual([0, 6, 3, 3]);
});

test("age counts policy updates", () => {
  const one = schedule([[[10, 10]]]);
  const old = { ...one, samples: { ...one.samples, policy_version: [7, 5] } };
  expect(colourScale(old, "age", 7)).toMatchObject({ index: [0, 6], high: "2 updates" });
  expect(colourChoices(old, 7)).toEqual(["tokens", "cost", "reward", "age"]);
});

test("a supervised step of one age offers neither reward nor age", () => {
  const one = schedule([[[10, 10]]]);
  const supervised = { ...one, samples: { ...one.samples, reward: [null, null] } };
  expect(colourChoices(supervised, 7)).toEqual(["tokens", "cost"]);
});
