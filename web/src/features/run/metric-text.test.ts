import { expect, test } from "vitest";
import { isFraction, metricText, startsAtZero } from "./metric-text";

test("seconds are written as a duration, rates are not", () => {
  expect(metricText("perf/generate_s", 27.14)).toBe("27.1\u00a0s");
  expect(metricText("rollout/tokens_per_s", 23_410)).toBe("23,410");
  expect(metricText("perf/generate_s", "NaN")).toBe("NaN");
  expect(metricText("perf/generate_s", null)).toBe("–");
});

test("fractions and counts begin at 0", () => {
  expect([isFraction("padding_frac"), isFraction("train/kl")]).toEqual([true, false]);
  expect(["num_tokens", "measured_idle_frac", "rollout/tokens_per_s", "train/kl"].map(startsAtZero)).toEqual([
    true,
    true,
    true,
    false,
  ]);
});
