import { describe, expect, test } from "vitest";
import {
  formatCompact,
  formatCount,
  formatDelta,
  formatInteger,
  formatMetric,
  formatPercent,
  formatRange,
} from "./numbers";

test("integers are in full with commas and a true minus", () => {
  expect(formatInteger(1285)).toBe("1,285");
  expect(formatInteger(9007199254740991)).toBe("9,007,199,254,740,991");
  expect(formatInteger(-1200)).toBe("−1,200");
});

test.each([
  [14_930, "14.9k"],
  [8_300, "8.3k"],
  [52_000, "52.0k"],
  [639_000, "639k"],
  [999_600, "1.0M"],
  [999.6, "1.0k"],
  [2_400_000_000, "2.4G"],
  [17, "17"],
  [0, "0"],
  [0.125, "0.125"],
  [-1500, "−1.5k"],
])("compact %d is %s", (value, text) => {
  expect(formatCompact(value)).toBe(text);
});

describe("metrics", () => {
  test.each([
    ["reward/mean", 0.6934, "0.693"],
    ["reward", 0, "0.000"],
    ["train/loss", 0.01661, "0.0166"],
    ["loss/kl", 0.25, "0.2500"],
    ["train/loss", -0.01661, "−0.0166"],
    ["train/grad_norm", 1.18, "1.180"],
    ["train/entropy", 0.32312, "0.3231"],
    ["rollout/response_tokens", 2665.2, "2,665"],
    ["train/lr", 2.87e-7, "2.87e−7"],
    ["train/lr", 0, "0"],
    ["perf/flops", 1_250_000, "1.25e6"],
    ["perf/idle_frac", 0.26, "26.0%"],
    ["global_batch_size", 136, "136"],
    ["train/loss", 0.0004, "4.00e−4"],
    ["perf/peak_memory_bytes", 1.5 * 1024 ** 3, "1.50\u00a0GiB"],
    ["train/loss", 817_130.868, "817,131"],
    ["train/loss", -12_345_678, "−1.23e7"],
    ["train/loss", 999.5, "999.5000"],
  ])("%s %d is %s", (name, value, text) => {
    expect(formatMetric(name, value)).toBe(text);
  });

  test("what is no number says so", () => {
    expect(formatMetric("train/loss", "NaN")).toBe("NaN");
    expect(formatMetric("train/loss", "-Infinity")).toBe("−Infinity");
    expect(formatMetric("train/loss", Number.POSITIVE_INFINITY)).toBe("Infinity");
    expect(formatMetric("train/loss", null)).toBe("–");
    expect(formatMetric("train/loss", undefined)).toBe("–");
  });
});

test("deltas carry their sign", () => {
  expect(formatDelta("reward/mean", 0.011)).toBe("+0.011");
  expect(formatDelta("reward/mean", -0.011)).toBe("−0.011");
  expect(formatDelta("reward/mean", 0)).toBe("+0.000");
});

test("percentages have one decimal and no space", () => {
  expect(formatPercent(0.2604)).toBe("26.0%");
  expect(formatPercent(-0.218)).toBe("−21.8%");
});

test("ranges and counts", () => {
  expect(formatRange(0, 1284)).toBe("0 to 1,284");
  expect(formatRange(7, 7)).toBe("7");
  expect(formatCount(1, "run")).toBe("1\u00a0run");
  expect(formatCount(14, "run")).toBe("14\u00a0runs");
});
