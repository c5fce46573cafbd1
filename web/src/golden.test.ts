/** What charts and schedules say of one recorded run is what Python reckons from its numbers: `tests/golden/`, where the
 * server's own tests hold the same answers. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Schedule, StepRow } from "@/api/types";
import { MetricTrack, sampledCounts, type TrackSeries } from "@/components/chart/metric-track";
import { extent, smooth } from "@/components/chart/series-math";
import { parseFraction, sumOverCommon } from "@/features/schedule/fractions";
import { gridGeometry } from "@/features/schedule/grid-geometry";
import { paddingOf, paddingShare } from "@/features/schedule/padding";
import { rankTimes } from "@/features/schedule/rank-times";

interface Golden {
  history: {
    series: TrackSeries[];
    expected: {
      least: number;
      greatest: number;
      total: number;
      last_step: number;
      non_finite: [number, string][];
      superseded: { attempt: number; first_step: number }[];
    };
  };
  smoothing: { keep: number; step: number[]; value: number[]; expected: number[] };
  step: {
    schedule: Schedule;
    row: Pick<StepRow, "measured_idle_frac" | "predicted_idle_frac" | "padding_frac">;
    expected: {
      makespan_s: number;
      busy_s: number[];
      idle_frac: number;
      weight_sum: string;
      weight_denominator: number;
      padding: number[][];
    };
  };
}

const golden: Golden = JSON.parse(readFileSync("../tests/golden/answers.json", "utf8"));

function close(values: readonly (number | null)[]): unknown[] {
  return values.map((value) => (value === null ? null : expect.closeTo(value, 9)));
}

test("a sampled line has every extreme, every non-finite value and what was superseded", () => {
  const { series, expected } = golden.history;
  const track = new MetricTrack("train/loss");
  track.setHistory(series);
  const { x, low, high } = track.columns;
  expect(extent(x, [low, high], 0, expected.last_step)).toEqual({
    low: expected.least,
    high: expected.greatest,
  });
  expect(track.marks.map(({ step, kind }) => [step, kind])).toEqual(expected.non_finite);
  expect(track.old.map(({ attempt, columns }) => ({ attempt, first_step: columns.step[0] }))).toEqual(
    expected.superseded,
  );
  expect([track.total, track.lastStep, track.newestAttempt]).toEqual([expected.total, expected.last_step, 2]);
  expect(sampledCounts(track)?.total).toBe(expected.total);
});

test("an average keeps the same share of itself for each step", () => {
  const { keep, step, value, expected } = golden.smoothing;
  expect(smooth({ step, value }, keep)).toEqual(close(expected));
});

test("a schedule's grid ends where the slowest rank does, and its empty part is the idle time", () => {
  const { schedule, row, expected } = golden.step;
  const busy = rankTimes(schedule).map(({ measuredS }) => measuredS);
  expect(busy).toEqual(close(expected.busy_s));
  const { barrierS } = gridGeometry(schedule, "measured", row);
  expect(barrierS).toBeCloseTo(expected.makespan_s, 9);
  const idle = 1 - busy.reduce((sum, seconds) => sum + seconds, 0) / (barrierS * busy.length);
  expect([idle, row.measured_idle_frac]).toEqual(close([expected.idle_frac, expected.idle_frac]));
});

test("the weights add up over their common denominator", () => {
  const { schedule, expected } = golden.step;
  const { top, bottom } = sumOverCommon(schedule.samples.weight);
  expect(bottom).toBe(BigInt(expected.weight_denominator));
  const sum = parseFraction(expected.weight_sum);
  expect(top * sum.bottom).toBe(sum.top * bottom);
});

test("padding is told for each micro-batch, and in all is the step's share", () => {
  const { schedule, row, expected } = golden.step;
  const padding = paddingOf(schedule, row) ?? [];
  expect(padding.map((own) => own.map((one) => one.padding))).toEqual(expected.padding);
  const all = padding.flat();
  const total = {
    padding: all.reduce((sum, one) => sum + one.padding, 0),
    positions: all.reduce((sum, one) => sum + one.positions, 0),
  };
  expect(paddingShare(total)).toBeCloseTo(row.padding_frac ?? 0, 12);
});
