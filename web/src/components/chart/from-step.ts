/** Histories without what was trained before a step: of a run that first trained supervised, its reinforcement learning
 * alone. Used by `RunHistory`; the axis goes on counting from the run's first step. Pure. */
import type { TrackSeries } from "./metric-track";

interface Dated extends TrackSeries {
  weight?: readonly number[];
}

/** A bucket that a step before `firstStep` is in is left out as a whole, and so is a series of which nothing is left. */
export function fromStep<Series extends Dated>(series: readonly Series[], firstStep: number): Series[] {
  if (firstStep <= 0) return [...series];
  return series
    .map((one) => cut(one, firstStep))
    .filter(({ x, non_finite }) => x.length + non_finite.length > 0);
}

function cut<Series extends Dated>(series: Series, firstStep: number): Series {
  const at = series.step.findIndex((step) => step >= firstStep);
  const start = at < 0 ? series.step.length : at;
  const nonFinite = series.non_finite.filter(({ step }) => step >= firstStep);
  return {
    ...series,
    total: series.total - numLeftOut(series, start, series.non_finite.length - nonFinite.length),
    x: series.x.slice(start),
    step: series.step.slice(start),
    last_step: series.last_step.slice(start),
    value: series.value.slice(start),
    ...(series.weight && { weight: series.weight.slice(start) }),
    min: series.min?.slice(start) ?? null,
    max: series.max?.slice(start) ?? null,
    non_finite: nonFinite,
  };
}

/** Points behind what is left out. A bucket covers its steps, those without a finite value among them. */
function numLeftOut({ sampled, step, last_step }: Dated, start: number, numNonFinite: number): number {
  if (!sampled) return start + numNonFinite;
  return step.slice(0, start).reduce((sum, first, i) => sum + (last_step[i] ?? first) - first + 1, 0);
}
