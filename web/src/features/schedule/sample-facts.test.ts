import { expect, test } from "vitest";
import { schedule, stepRow } from "./factories";
import { gridGeometry } from "./grid-geometry";
import { cardText } from "./sample-card";
import { sampleFacts } from "./sample-facts";

test("what the card says of a sample that runs alone above the cap", () => {
  const one = schedule([[[450]], [[20, 30]]]);
  const card = sampleFacts(
    one,
    gridGeometry(one, "measured"),
    0,
    stepRow({ policy_version: 9, padding_frac: null }),
  );
  expect(card && cardText(card)).toBe(
    "Sample 0; rank 0, micro-batch 0; Tokens 450, 4.5 × the cap; Loss tokens 449; Measured 450\u00a0ms, predicted 450\u00a0ms; " +
      "Group g0, 2\u00a0rollouts; Reward 0.000, advantage −0.500; Weight 1/3; Policy version 7, age 2",
  );
});

test("in company it is timed by its share", () => {
  const one = schedule([[[450]], [[20, 30]]]);
  const card = sampleFacts(one, gridGeometry(one, "measured"), 2, stepRow());
  expect(card?.facts.find(({ label }) => label.startsWith("Measured"))).toEqual({
    label: "Measured, its share",
    value: "30\u00a0ms",
    note: "predicted 30\u00a0ms",
  });
});

test("a supervised sample has no reward, and an unknown one no card", () => {
  const one = schedule([[[10]]]);
  const supervised = { ...one, samples: { ...one.samples, reward: [null], advantage: [null] } };
  const geometry = gridGeometry(supervised, "measured");
  expect(
    sampleFacts(supervised, geometry, 0, stepRow())?.facts.find(({ label }) => label === "Reward"),
  ).toEqual({
    label: "Reward",
    value: "–",
  });
  expect(sampleFacts(supervised, geometry, 5, stepRow())).toBeNull();
});

test("padding is its micro-batch's", () => {
  const padded = schedule([[[30, 10]], [[40]]], { num_positions: [[50], [40]] });
  const geometry = gridGeometry(padded, "measured");
  const factOf = (sample: number) =>
    sampleFacts(padded, geometry, sample, stepRow())?.facts.find(({ label }) => label.startsWith("Padding"));
  expect(factOf(1)).toEqual({ label: "Padding, micro-batch", value: "10 of 50", note: "20.0%" });
  expect(factOf(2)).toEqual({ label: "Padding", value: "none", note: "in its micro-batch" });
});
