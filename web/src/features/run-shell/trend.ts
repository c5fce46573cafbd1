/** How a noisy value moved: the mean of its newest fifth against the mean of its oldest. Pure. */

const FEWEST_POINTS = 10;

export interface Trend {
  delta: number;
  numSteps: number;
}

/** Null where there are too few values to tell a trend from noise. */
export function trendOf(values: readonly number[]): Trend | null {
  if (values.length < FEWEST_POINTS) return null;
  const fifth = Math.floor(values.length / 5);
  return { delta: mean(values.slice(-fifth)) - mean(values.slice(0, fifth)), numSteps: values.length };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
