/** How numbers are written everywhere. Pure; the rules are the design language's, section 8. */

import { formatBytes } from "./bytes";

/** What JSON has no number for travels as one of these strings. */
export type NonFinite = "NaN" | "Infinity" | "-Infinity";
export type MetricValue = number | NonFinite | null;

const MINUS = "−";
export const NBSP = "\u00a0";
/** A value that does not exist. */
export const MISSING = "–";

const integers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function withMinus(text: string): string {
  return text.replaceAll("-", MINUS);
}

/** A number that may be missing: an external run need not tell all. */
type Maybe = number | null | undefined;

/** In full, with commas: `1,285`. */
export function formatInteger(value: Maybe): string {
  if (value === null || value === undefined) return MISSING;
  return withMinus(integers.format(value));
}

/** At most three digits and k, M or G, for axes, grid labels and lists: `14.9k`, `639k`, `8`. */
export function formatCompact(value: Maybe): string {
  if (value === null || value === undefined) return MISSING;
  const size = Math.abs(value);
  for (const [unit, suffix] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    // From 999.5 up a number would round to a fourth digit of the unit below.
    if (size >= unit * 0.9995) {
      const scaled = value / unit;
      return withMinus(scaled.toFixed(Math.abs(scaled) >= 99.95 ? 0 : 1)) + suffix;
    }
  }
  return withMinus(Number.isInteger(value) ? value.toString() : Number(value.toPrecision(3)).toString());
}

/** A fraction as a percentage with one decimal: `26.0%`. */
export function formatPercent(fraction: Maybe): string {
  if (fraction === null || fraction === undefined) return MISSING;
  return `${withMinus((fraction * 100).toFixed(1))}%`;
}

function formatExponent(value: number): string {
  return withMinus(value.toExponential(2).replace("e+", "e"));
}

function decimalsOf(name: string): number | null {
  if (/(^|\/)reward/.test(name)) return 3;
  if (/(^|[/_])loss(\/|$)/.test(name)) return 4;
  return null;
}

function formatFinite(name: string, value: number): string {
  if (name.endsWith("_frac")) return formatPercent(value);
  if (name.endsWith("_bytes") && value >= 0) return formatBytes(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return formatExponent(value);
  // Beyond a thousand decimals say nothing, and no column has room for them.
  const decimals = size < 1000 ? decimalsOf(name) : null;
  if (decimals !== null) return withMinus(value.toFixed(decimals));
  if (Number.isInteger(value) || size >= 1000) return formatInteger(value);
  return withMinus(value.toPrecision(4));
}

/** A metric's value as its name asks: reward 3 decimals, loss 4, `_frac` in %, `_bytes` in GiB, anything else 4 digits. */
export function formatMetric(name: string, value: MetricValue | undefined): string {
  if (value === null || value === undefined) return MISSING;
  if (typeof value === "string") return withMinus(value);
  if (!Number.isFinite(value)) return withMinus(String(value));
  return formatFinite(name, value);
}

/** A change, always with its sign: `+0.011`, `−0.011`. */
export function formatDelta(name: string, value: number): string {
  const text = formatMetric(name, value);
  return value < 0 || Number.isNaN(value) ? text : `+${text}`;
}

/** Both ends of a range of integers: `0 to 1,284`. */
export function formatRange(first: number, last: number): string {
  return first === last ? formatInteger(first) : `${formatInteger(first)} to ${formatInteger(last)}`;
}

/** A count with its noun: `1 run`, `14 runs`. */
export function formatCount(count: Maybe, noun: string): string {
  if (count === null || count === undefined) return MISSING;
  return `${formatInteger(count)}${NBSP}${noun}${count === 1 ? "" : "s"}`;
}

/** Whether a value is one that no axis can hold. */
export function isNonFinite(value: MetricValue | undefined): value is NonFinite {
  return typeof value === "string";
}
