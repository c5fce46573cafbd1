import { expect, test, vi } from "vitest";
import { buckets, series } from "./factories";
import { MetricTrack, nearestIndex, sampledCounts } from "./metric-track";

function trackOf(...all: Parameters<MetricTrack["setHistory"]>[0]): MetricTrack {
  const track = new MetricTrack("train/loss");
  track.setHistory(all);
  return track;
}

test("a non-finite point is a gap in the line and a mark at its x", () => {
  const track = trackOf(
    series([5, 7], {
      x: [0, 2],
      step: [0, 2],
      last_step: [0, 2],
      total: 3,
      non_finite: [{ x: 1, step: 1, value: "NaN" }],
    }),
  );
  expect(track.columns.x).toEqual([0, 1, 2]);
  expect(track.columns.value).toEqual([5, null, 7]);
  expect(track.marks).toEqual([{ x: 1, step: 1, kind: "NaN" }]);
});

test("a series without a finite value is all gaps", () => {
  const track = trackOf(
    series([], {
      total: 2,
      non_finite: [
        { x: 1, step: 1, value: "NaN" },
        { x: 2, step: 2, value: "Infinity" },
      ],
    }),
  );
  expect(track.columns.value).toEqual([null, null]);
  expect(track.lastStep).toBe(2);
});

test("attempts follow each other in the line; what was trained again stands apart", () => {
  const track = trackOf(
    series([9, 9], { first: 2, superseded: true }),
    series([3, 4], { first: 2, attempt: 2 }),
    series([1, 2], { first: 0 }),
  );
  expect(track.columns.value).toEqual([1, 2, 3, 4]);
  expect(track.old.map(({ attempt, columns }) => [attempt, columns.step[0], columns.value])).toEqual([
    [1, 2, [9, 9]],
  ]);
  expect(track.total).toBe(4);
  expect([track.attemptAt(1), track.attemptAt(2)]).toEqual([1, 2]);
});

test("a live point is taken once", () => {
  const track = trackOf(series([1, 2]));
  const changed = vi.fn();
  track.onChange(changed);
  track.append({ attempt: 1, x: 1, step: 1, value: 9 });
  track.append({ attempt: 1, x: 2, step: 2, value: 3 });
  track.append({ attempt: 1, x: 2, step: 2, value: 3 });
  track.append({ attempt: 1, x: 3, step: 3, value: null });
  expect(track.columns.value).toEqual([1, 2, 3]);
  expect([track.total, track.tail]).toEqual([3, 1]);
  expect(changed).toHaveBeenCalledTimes(1);
});

test("a live NaN is a gap and a mark too", () => {
  const track = trackOf(series([1]));
  track.append({ attempt: 1, x: 1, step: 1, value: "-Infinity" });
  expect(track.columns.value).toEqual([1, null]);
  expect(track.marks).toEqual([{ x: 1, step: 1, kind: "-Infinity" }]);
});

test("buckets keep their extremes, and are told", () => {
  const track = trackOf(
    buckets([
      { mean: 2, min: 1, max: 3 },
      { mean: 5, min: 4, max: 6 },
    ]),
  );
  expect([track.columns.low, track.columns.high]).toEqual([
    [1, 4],
    [3, 6],
  ]);
  expect(track.stepsPerBucket).toBe(2);
  expect(sampledCounts(track)).toEqual({ shown: 2, total: 4 });
  expect(sampledCounts(trackOf(series([1, 2])))).toBeNull();
});

test("the nearest point is found at both ends, between and on points", () => {
  const xs = [0, 10, 20];
  expect([-5, 0, 4, 6, 15.1, 99].map((x) => nearestIndex(xs, x))).toEqual([0, 0, 0, 1, 2, 2]);
  expect(nearestIndex([], 3)).toBeNull();
});

test("of a part, what was known of the whole is drawn at both sides", () => {
  const track = trackOf(buckets([0, 1, 2, 3, 4].map((mean) => ({ mean, min: mean, max: mean }))));
  track.setHistory([series([20, 30, 40], { first: 4 })], { from: 0, to: 7 });
  expect(track.columns.value).toEqual([20, 30, 40]);
  // The bucket of steps 6 and 7 is told by the part.
  expect([track.drawn.step, track.drawn.value]).toEqual([
    [0, 2, 4, 5, 6, 8],
    [0, 1, 20, 30, 40, 4],
  ]);
  track.setHistory([series([], { total: 0 })], { from: 0, to: 7 });
  expect(track.drawn.value).toEqual([0, 1, 2, 3, 4]);
});

test("a live point behind a part goes to the whole alone", () => {
  const track = trackOf(series([0, 1, 2, 3]));
  track.setHistory([series([1, 2], { first: 1 })], { from: 0, to: 3 });
  for (const step of [3, 4]) track.append({ attempt: 1, x: step, step, value: step });
  expect([track.columns.step, track.drawn.step, track.newestStep]).toEqual([[1, 2], [0, 1, 2, 3, 4], 4]);
  expect([track.tail, track.wholeTail]).toEqual([0, 1]);
});

test("a live point inside of a part that reaches beyond the newest is drawn once", () => {
  const track = trackOf(series([0, 1, 2]));
  track.setHistory([series([1, 2], { first: 1 })], { from: 0, to: 100 });
  track.append({ attempt: 1, x: 3, step: 3, value: 3 });
  expect([track.columns.step, track.drawn.step]).toEqual([
    [1, 2, 3],
    [0, 1, 2, 3],
  ]);
});

test("a part whose whole is not known stands alone", () => {
  const track = new MetricTrack("train/loss");
  track.setHistory([series([1, 2], { first: 1 })], { from: 0, to: 3 });
  track.append({ attempt: 1, x: 9, step: 9, value: 9 });
  expect(track.drawn.step).toEqual([1, 2]);
  track.setWhole([series([0, 1, 2, 3])]);
  expect(track.drawn.step).toEqual([0, 1, 2, 3]);
  track.setWhole(null);
  expect(track.drawn.step).toEqual([1, 2]);
});

test("a clock that was set back turns no line round, and no live point is drawn twice", () => {
  const track = trackOf(series([1, 2, 3], { x: [10, 5, 20] }));
  expect([track.columns.x, track.columns.step]).toEqual([
    [5, 10, 20],
    [1, 0, 2],
  ]);
  track.append({ attempt: 1, x: 30, step: 2, value: 3 });
  track.append({ attempt: 1, x: 12, step: 3, value: 4 });
  expect([track.columns.x, track.columns.step]).toEqual([
    [5, 10, 20, 20],
    [1, 0, 2, 3],
  ]);
});

test("a part without an end grows with the line", () => {
  const track = trackOf(series([0, 1, 2]));
  track.setHistory([series([1, 2], { first: 1 })], { from: 1, to: Number.POSITIVE_INFINITY });
  track.append({ attempt: 1, x: 3, step: 3, value: 3 });
  expect([track.isPart, track.isOpen, track.columns.step, track.drawn.step]).toEqual([
    true,
    true,
    [1, 2, 3],
    [0, 1, 2, 3],
  ]);
});

test("a live point before a part is not of it, and tells which attempt is the newest", () => {
  const track = trackOf(series([0, 1]));
  track.setHistory([series([], { total: 0 })], { from: 6, to: 9 });
  track.append({ attempt: 2, x: 2, step: 2, value: 2 });
  expect([track.columns.step, track.drawn.step, track.newestAttempt]).toEqual([[], [0, 1, 2], 2]);
  track.append({ attempt: 2, x: 6, step: 6, value: 6 });
  expect(track.columns.step).toEqual([6]);
});
