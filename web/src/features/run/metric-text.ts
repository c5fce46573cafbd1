/** How a metric's value is written on a panel: seconds as a duration, everything else as its name asks. Pure. */
import { formatDuration } from "@/lib/durations";
import { formatMetric, type MetricValue } from "@/lib/numbers";

export function metricText(name: string, value: MetricValue | undefined): string {
  const isSeconds = name.endsWith("_s") && !name.endsWith("_per_s");
  if (isSeconds && typeof value === "number" && value >= 0) return formatDuration(value);
  return formatMetric(name, value);
}

/** Sizes are written in binary units. */
export function isSize(name: string): boolean {
  return name.endsWith("_bytes");
}

/** Fractions begin at 0 and are written as %. */
export function isFraction(name: string): boolean {
  return name.endsWith("_frac");
}

/** Counts and sizes begin at 0: their height tells how much there is. */
export function startsAtZero(name: string): boolean {
  return isFraction(name) || /^(num_|global_batch_size$)/.test(name) || /_per_s$/.test(name);
}
