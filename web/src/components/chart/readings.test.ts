import { expect, test } from "vitest";
import { buckets, series } from "./factories";
import { MetricTrack } from "./metric-track";
import { readingNear, readingText, stepsText, trackSentence, trendOf } from "./readings";

function trackOf(name: string, ...all: Parameters<MetricTrack["setHistory"]>[0]): MetricTrack {
  const track = new MetricTrack(name);
  track.setHistory(all);
  return track;
}

test("a bucket is read with its extremes and its steps", () => {
  const track = trackOf("train/loss", buckets([{ mean: 0.0214, min: 0.019, max: 0.0241 }]));
  const reading = readingNear(track, 0);
  expect(readingText("train/loss", reading)).toBe("0.0214 (0.0190 to 0.0241)");
  expect(reading && stepsText(reading)).toBe("Steps 0 to 1");
});

test("a point is read as it is; what is not finite by its name", () => {
  const track = trackOf(
    "reward/mean",
    series([0.5], { non_finite: [{ x: 1, step: 1, value: "-Infinity" }] }),
  );
  expect(readingText("reward/mean", readingNear(track, 0))).toBe("0.500");
  expect(readingText("reward/mean", readingNear(track, null))).toBe("−Infinity");
  expect(readingText("reward/mean", null)).toBe("–");
});

test("trends", () => {
  expect(trendOf([1, 2, 3, 4, 5])).toBe("rising");
  expect(trendOf([5, 4, 3, 2, 1])).toBe("falling");
  expect(trendOf([1, 5, 1, 5, 1])).toBe("steady");
  expect(trendOf([2, 2])).toBe("steady");
});

test("a chart in a sentence: last, least, greatest, trend, what is odd", () => {
  const track = trackOf(
    "train/loss",
    series([0.5, 0.4, 0.3], { non_finite: [{ x: 3, step: 3, value: "NaN" }], total: 4 }),
    series([0.4], { first: 2, superseded: true }),
  );
  expect(trackSentence(track, "Loss")).toBe(
    "Loss: NaN at step 3, from 0.3000 to 0.5000, falling. 1 NaN; attempt 1 superseded from step 2.",
  );
  expect(trackSentence(trackOf("train/loss"), "Loss")).toBe("Loss: no points yet.");
  const nothing = trackOf(
    "train/loss",
    series([], { total: 1, non_finite: [{ x: 0, step: 0, value: "NaN" }] }),
  );
  expect(trackSentence(nothing, "Loss")).toBe("Loss: no finite value in 1\u00a0point. 1 NaN.");
});
