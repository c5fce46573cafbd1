import { expect, test } from "vitest";
import { domainOf } from "./domain";
import { buckets, series } from "./factories";
import { MetricTrack } from "./metric-track";

function trackOf(...all: Parameters<MetricTrack["setHistory"]>): MetricTrack {
  const track = new MetricTrack("global_batch_size");
  track.setHistory(...all);
  return track;
}

test("on an axis of steps the last one has its width, however many its point stands for", () => {
  expect(domainOf([trackOf([series([1, 2, 3])])], "step")).toEqual({ from: 0, to: 3 });
  const rows = [1, 2].map((mean) => ({ mean, min: mean, max: mean }));
  expect(domainOf([trackOf([buckets(rows)])], "step")).toEqual({ from: 0, to: 4 });
  expect(domainOf([trackOf([series([1, 2, 3])])], "time")).toEqual({ from: 0, to: 2 });
});

test("it holds all runs, and nothing of one that only a part is known of", () => {
  const part = trackOf([series([1, 2], { first: 50 })], { from: 50, to: 52 });
  expect(domainOf([part], "step")).toBeNull();
  expect(domainOf([part, trackOf([series([1])])], "step")).toEqual({ from: 0, to: 1 });
  part.setWhole([series(Array.from({ length: 60 }, () => 1))]);
  expect(domainOf([part], "step")).toEqual({ from: 0, to: 60 });
});

test("of a part without an end, the end is known before the whole is", () => {
  const open = trackOf([series([1, 2], { first: 50 })], { from: 50, to: Number.POSITIVE_INFINITY });
  expect(domainOf([open], "step")).toEqual({ from: 50, to: 52 });
});

test("without a point nothing is known", () => {
  expect(domainOf([new MetricTrack("train/loss")], "step")).toBeNull();
});
