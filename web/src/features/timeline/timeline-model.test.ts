import { expect, test } from "vitest";
import { stepSpans } from "./factories";
import {
  busyFrac,
  densityOf,
  type Lane,
  longestWaits,
  markAt,
  neighbour,
  secondsByActivity,
  spanAt,
  timelineOf,
} from "./timeline-model";

const STEPS = [
  stepSpans(3, 0, 10, [
    ["engine 0", "generate", 0, 4],
    ["rank 10", "forward_backward", 5, 7],
    ["rank 2", "forward_backward", 5, 9],
    ["driver", "schedule", 4, 5],
    ["rank 2", "optimizer", 9, 10],
  ]),
  stepSpans(4, 10, 6, [["rank 2", "forward_backward", 2, 6]]),
];

test("lanes stand by kind and number, on one axis over the steps", () => {
  const timeline = timelineOf(STEPS);
  expect(timeline.lanes.map(({ actor }) => actor)).toEqual(["driver", "engine 0", "rank 2", "rank 10"]);
  expect(timeline.durationS).toBe(16);
  expect(timeline.lanes[2]?.start).toEqual([5, 9, 12]);
  expect(timeline.marks.map(({ from, to }) => [from, to])).toEqual([
    [0, 10],
    [10, 16],
  ]);
});

test("a moment is in a span or in a wait, and both have neighbours", () => {
  const timeline = timelineOf(STEPS);
  const work = spanAt(timeline, 2, 6);
  expect(work).toEqual({ from: 5, to: 9, activity: "forward_backward", step: 3 });
  const wait = spanAt(timeline, 2, 11);
  expect(wait).toEqual({ from: 10, to: 12, activity: null, step: null });
  expect(wait && neighbour(timeline, 2, wait, 1)).toMatchObject({ from: 12, to: 16 });
  expect(work && neighbour(timeline, 2, work, -1)).toMatchObject({ from: 0, to: 5, activity: null });
  const last = spanAt(timeline, 2, 15);
  expect(last && neighbour(timeline, 2, last, 1)).toEqual(last);
  expect(spanAt(timeline, 2, 17)).toBeNull();
});

test("time is counted inside the window only", () => {
  const { lanes } = timelineOf(STEPS);
  const rank = lanes[2] as Lane;
  expect([...secondsByActivity([rank], 8, 13)]).toEqual([
    ["forward_backward", 2],
    ["optimizer", 1],
  ]);
  expect(busyFrac(rank, 0, 10)).toBeCloseTo(0.5);
  expect(busyFrac(rank, 3, 3)).toBe(0);
});

test("each actor tells its longest wait", () => {
  const timeline = timelineOf(STEPS);
  expect(longestWaits(timeline, 0, 16, 2)).toEqual([
    { lane: 1, from: 4, to: 16 },
    { lane: 0, from: 5, to: 16 },
  ]);
});

test("shares of a folded kind add up to what is busy", () => {
  const { lanes } = timelineOf(STEPS);
  const ranks = lanes.filter(({ kind }) => kind === "rank");
  const density = densityOf(ranks, 0, 16, 8);
  expect(
    [...(density.get("forward_backward") ?? [])].map((value) => Math.round(value * 1000) / 1000),
  ).toEqual([0, 0, 0.5, 0.75, 0.25, 0, 0.5, 0.5]);
});

test("where steps meet the later one counts", () => {
  const { marks } = timelineOf(STEPS);
  expect(markAt(marks, 10)?.step).toBe(4);
  expect(markAt(marks, 20)).toBeNull();
});
