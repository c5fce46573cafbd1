import { expect, test } from "vitest";
import { colourChoices, colourScale } from "./cell-colours";
import { schedule, stepRow } from "./factories";

const STEP = stepRow({ policy_version: 7, padding_frac: null });

test("tokens are coloured up to the cap, and above it no darker", () => {
  const { index, high } = colourScale(schedule([[[1, 50, 99, 300]]]), "tokens", STEP);
  expect(index).toEqual([0, 3, 6, 6]);
  expect(high).toBe("100 tokens (cap) and over");
});

test("where all samples are far below the cap the longest ends the scale", () => {
  const { index, high } = colourScale(schedule([[[10, 20]]], { token_cap: 2048 }), "tokens", STEP);
  expect(index).toEqual([3, 6]);
  expect(high).toBe("20 tokens");
});

test("a reward is coloured against the mean of its group", () => {
  const one = schedule([[[10, 10, 10, 10]]]);
  const rewards = { ...one.samples, reward: [0, 1, 1, 1] };
  const { kind, index } = colourScale({ ...one, samples: rewards }, "reward", STEP);
  expect(kind).toBe("div");
  expect(index).toEqual([0, 6, 3, 3]);
});

test("age counts policy updates", () => {
  const one = schedule([[[10, 10]]]);
  const old = { ...one, samples: { ...one.samples, policy_version: [7, 5] } };
  expect(colourScale(old, "age", STEP)).toMatchObject({ index: [0, 6], high: "2 updates" });
  expect(colourChoices(old, STEP)).toEqual(["tokens", "cost", "reward", "age"]);
});

test("a supervised step of one age offers neither reward nor age", () => {
  const one = schedule([[[10, 10]]]);
  const supervised = { ...one, samples: { ...one.samples, reward: [null, null] } };
  expect(colourChoices(supervised, STEP)).toEqual(["tokens", "cost"]);
});

test("padding colours all samples of a micro-batch alike, and a dummy that runs as all of it", () => {
  const padded = schedule(
    [
      [[10, 20], [30]],
      [[40], []],
    ],
    {
      num_positions: [
        [40, 30],
        [50, 1],
      ],
    },
  );
  const { index, low, high, dummy } = colourScale(padded, "padding", STEP);
  expect(index).toEqual([6, 6, 0, 5]);
  expect([low, high, dummy]).toEqual(["no padding", "25.0% of a micro-batch’s positions", 6]);
});

test("a step without padding says so, though it was recorded without positions", () => {
  const unpadded = { ...STEP, padding_frac: 0 };
  const one = schedule([[[10, 20]], [[30]]]);
  expect(colourChoices(one, unpadded)).toEqual(["tokens", "cost", "padding", "reward"]);
  expect(colourScale(one, "padding", unpadded)).toMatchObject({ index: [0, 0, 0], high: "" });
  expect(colourChoices(one, { ...STEP, padding_frac: 0.2 })).toEqual(["tokens", "cost", "reward"]);
});
