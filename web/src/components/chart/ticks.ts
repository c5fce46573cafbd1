/** Where an axis has its ticks: at 1, 2, 2.5 or 5 × 10ⁿ. Pure; units as in the data. */

export interface Axis {
  min: number;
  max: number;
  /** Distance between two ticks; 0 on a logarithmic axis. */
  step: number;
  ticks: number[];
}

const STEPS = [1, 2, 2.5, 5, 10];
/** Finer choice for axes whose number of rows is fixed: with 1, 2, 2.5 and 5 alone up to 60 % would stay empty. */
const ROW_STEPS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
/** Of counts 125 is short enough; a loss of 0.0125 would fill the gutter. */
const INTEGER_ROW_STEPS = [1, 1.25, ...ROW_STEPS.slice(1)];

/** The smallest allowed step of at least `least`. */
export function niceStep(least: number, steps: readonly number[] = STEPS): number {
  const power = 10 ** Math.floor(Math.log10(least));
  // The factor forgives the last digit of `least`, so that 0.2 stays 0.2.
  const multiple = steps.find((step) => step * power >= least * (1 - 1e-9)) ?? 10;
  return clean(multiple * power);
}

/** Rids a sum or product of its last, binary digits: 0.30000000000000004 → 0.3. */
export function clean(value: number): number {
  return Number(value.toPrecision(12));
}

/** Multiples of `step` in [min, max]. */
export function multiples(min: number, max: number, step: number): number[] {
  const first = Math.ceil(min / step - 1e-9);
  const last = Math.floor(max / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => clean((first + i) * step));
}

function axisOf(low: number, high: number, step: number): Axis {
  const min = clean(Math.floor(low / step + 1e-9) * step);
  const max = clean(Math.ceil(high / step - 1e-9) * step);
  return { min, max, step, ticks: multiples(min, max, step) };
}

/** Below this the ticks are written with an exponent, where one digit is to do: 2.5e−7 fills the gutter. */
export const TINY = 0.01;
const ROUND_STEPS = [1, 2, 5, 10];

/** An axis that holds low to high, begins and ends at a tick, and has three to `most` of them. */
export function linearAxis(low: number, high: number, most = 5): Axis {
  const [from, to] = apart(low, high);
  const steps = Math.max(Math.abs(from), Math.abs(to)) < TINY ? ROUND_STEPS : STEPS;
  let step = niceStep((to - from) / (most - 1), steps);
  let axis = axisOf(from, to, step);
  while (axis.ticks.length > most) {
    step = niceStep(step * 1.01, steps);
    axis = axisOf(from, to, step);
  }
  return axis.ticks.length < 3 ? axisOf(axis.min, axis.min + 2 * step, step) : axis;
}

/** An axis of exactly `rows` equal rows that holds low to high and begins and ends at a tick. */
export function rowAxis(low: number, high: number, rows: number, integer = false): Axis {
  const [from, to] = apart(low, high);
  const steps = integer ? INTEGER_ROW_STEPS : ROW_STEPS;
  let step = niceStep((to - from) / rows, steps);
  if (integer) step = Math.max(1, step);
  for (;;) {
    const min = clean(Math.floor(from / step + 1e-9) * step);
    const max = clean(min + rows * step);
    if (max >= to * (1 - 1e-12) && !(integer && !Number.isInteger(step))) {
      return { min, max, step, ticks: multiples(min, max, step) };
    }
    step = niceStep(step * 1.01, steps);
  }
}

/** A logarithmic axis over whole decades, or over 1, 2, 5 × 10ⁿ when the values span less than two. */
export function logAxis(low: number, high: number, most = 5): Axis {
  const [from, to] = [Math.max(1 / LARGEST, held(low)), Math.max(1 / LARGEST, held(high))];
  const first = Math.floor(Math.log10(from) + 1e-9);
  const last = Math.max(first + 1, Math.ceil(Math.log10(to) - 1e-9));
  const ticks = last - first === 1 ? fineLogTicks(from, to, first) : decades(first, last, most);
  return { min: ticks[0] ?? from, max: ticks[ticks.length - 1] ?? to, step: 0, ticks };
}

function fineLogTicks(low: number, high: number, decade: number): number[] {
  const candidates = [1, 2, 5, 10].map((m) => clean(m * 10 ** decade));
  const from = candidates.findLastIndex((tick) => tick <= low * (1 + 1e-9));
  const to = candidates.findIndex((tick) => tick >= high * (1 - 1e-9));
  return candidates.slice(Math.max(0, from), Math.max(to, from + 1) + 1);
}

function decades(first: number, last: number, most: number): number[] {
  const every = Math.ceil((last - first) / (most - 1));
  const count = Math.ceil((last - first) / every);
  return Array.from({ length: count + 1 }, (_, i) => clean(10 ** (first + i * every)));
}

/** Beyond it, and nearer to 0 than its inverse, a step of an axis overflows: such values lie at the edge. */
const LARGEST = 1e300;
/** Values that differ by less, as a share of themselves, are one: a tick has 12 digits. */
const ALIKE = 1e-10;

function held(value: number): number {
  return Math.min(LARGEST, Math.max(-LARGEST, value));
}

/** A range of one value has no height: it gets one, towards 0. */
function apart(low: number, high: number): [number, number] {
  const [from, to] = [held(low), held(high)];
  const largest = Math.max(Math.abs(from), Math.abs(to));
  if (largest < 1 / LARGEST) return [0, 1];
  if (to - from > ALIKE * largest) return [from, to];
  return to > 0 ? [0, to] : [from, 0];
}

/** Ticks of an x axis of whole numbers (steps, samples, tokens), at most `most`. */
export function countTicks(min: number, max: number, most: number): number[] {
  if (!isSpan(min, max)) return [min];
  let step = Math.max(1, niceStep((max - min) / Math.max(1, most)));
  while (!Number.isInteger(step)) step = niceStep(step * 1.01);
  return multiples(min, max, step);
}

function isSpan(min: number, max: number): boolean {
  return max > min && Number.isFinite(max - min);
}

const SECONDS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
  604_800,
];

/** The distance of ticks of an axis in seconds, at steps of clocks and calendars. */
export function secondsStep(span: number, most: number): number {
  const least = span / Math.max(1, most);
  return SECONDS.find((step) => step >= least) ?? 604_800 * Math.ceil(least / 604_800);
}

/** Ticks of an axis in seconds. `zone` is the seconds that local time is ahead of UTC: ticks lie at local hours. */
export function secondsTicks(min: number, max: number, most: number, zone = 0): number[] {
  if (!isSpan(min, max)) return [min];
  const step = secondsStep(max - min, most);
  if (step < 1 || max - min < 2) return multiples(min, max, niceStep((max - min) / most));
  return multiples(min + zone, max + zone, step).map((tick) => tick - zone);
}
