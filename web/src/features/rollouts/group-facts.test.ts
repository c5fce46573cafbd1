import { expect, test } from "vitest";
import { fateText, isLeftOut, lengthsText, rewardBars, rewardScale, rewardSpread } from "./group-facts";

test("what could not be scored does not count", () => {
  const spread = rewardSpread([{ reward: 1 }, { reward: null }, { reward: 0 }]);
  expect(spread).toEqual({ mean: 0.5, std: 0.5, numScored: 2 });
  expect(rewardSpread([{ reward: null }])).toEqual({ mean: null, std: null, numScored: 0 });
});

test("bars are best first on one scale, also with rewards below 0", () => {
  const scale = rewardScale([-1, null, 0.5]);
  expect(scale).toEqual({ low: -1, high: 1 });
  expect(rewardBars([-1, 1, 0], scale)).toEqual([
    { height: 1, isLow: false },
    { height: 0.5, isLow: false },
    { height: 0, isLow: true },
  ]);
});

test("many rollouts share bars", () => {
  const bars = rewardBars(
    Array.from({ length: 64 }, (_, i) => i / 63),
    { low: 0, high: 1 },
  );
  expect(bars).toHaveLength(16);
  expect(bars[0]?.height).toBeGreaterThan(bars[15]?.height ?? 1);
});

test("a fate is told in words, several with their counts", () => {
  const filtered = { fate: "filtered", reason: "zero_variance" };
  expect(fateText([filtered, filtered])).toBe("filtered: zero variance");
  expect(fateText([{ fate: "trained", reason: null }, filtered])).toBe(
    "1 trained, 1 filtered: zero variance",
  );
  expect([isLeftOut([filtered]), isLeftOut([filtered, { fate: "carried" }])]).toEqual([true, false]);
  expect(lengthsText([{ num_tokens: 1533 }, { num_tokens: 36_912 }])).toBe("1,533 to 36,912 tokens");
});
