/** Builders of series for tests. */
import type { TrackSeries } from "./metric-track";

/** One point a step from `first` on, x equal to the step. */
export function series(
  values: readonly number[],
  given: Partial<TrackSeries> & { first?: number } = {},
): TrackSeries {
  const { first = 0, ...rest } = given;
  const step = values.map((_, i) => first + i);
  return {
    attempt: 1,
    superseded: false,
    total: values.length,
    sampled: false,
    x: step,
    step,
    last_step: step,
    value: values,
    min: null,
    max: null,
    non_finite: [],
    ...rest,
  };
}

/** Buckets of two steps with a mean, a least and a greatest value each. */
export function buckets(rows: readonly { mean: number; min: number; max: number }[]): TrackSeries {
  const step = rows.map((_, i) => 2 * i);
  return series([], {
    sampled: true,
    total: rows.length * 2,
    x: step,
    step,
    last_step: step.map((first) => first + 1),
    value: rows.map(({ mean }) => mean),
    min: rows.map(({ min }) => min),
    max: rows.map(({ max }) => max),
  });
}
