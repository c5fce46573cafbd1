/** The paths of a sparkline in a box of 1000 × 100. Pure. */

/** What the highest value leaves free above it, so that its line is not cut. */
const TOP = 7.4;
const HEIGHT = 100;
const WIDTH = 1000;

function short(value: number): string {
  return Number(value.toFixed(2)).toString();
}

/** Each value holds for an equal width. No values: empty paths. */
export function sparklinePaths(values: readonly number[]): { line: string; area: string } {
  if (values.length === 0) return { line: "", area: "" };
  const max = Math.max(...values, 0);
  const y = (value: number) =>
    short(max === 0 ? HEIGHT : HEIGHT - (Math.max(0, value) / max) * (HEIGHT - TOP));
  const steps = values.map((value, i) => `V${y(value)}H${short(((i + 1) * WIDTH) / values.length)}`);
  const line = `M0 ${y(values[0] ?? 0)}${steps.join("")}`;
  return { line, area: `${line}V${HEIGHT}H0Z` };
}
