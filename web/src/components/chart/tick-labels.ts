/** What stands beside a tick. Small values have the same decimals along an axis, large ones each their own unit. Pure. */
import { byteUnit } from "@/lib/bytes";
import { formatInteger, NBSP } from "@/lib/numbers";
import { formatClock, formatClockMinutes, formatDate } from "@/lib/times";
import { clean, TINY } from "./ticks";

const MINUS = "−";
const UNITS = [
  { size: 1e9, suffix: "G" },
  { size: 1e6, suffix: "M" },
  { size: 1e3, suffix: "k" },
] as const;

function decimalsFor(step: number): number {
  if (step <= 0) return 0;
  for (let decimals = 0; decimals < 12; decimals++) {
    const scaled = step * 10 ** decimals;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 12;
}

function fixed(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", MINUS);
}

function exponent(value: number): string {
  return value === 0
    ? "0"
    : Number(value.toPrecision(3)).toExponential().replaceAll("-", MINUS).replace("e+", "e");
}

/** Labels of a y axis: `0.25`, `10k`, `5e−7`; with `percent` the ticks are fractions: `30%`. */
export function valueLabels(ticks: readonly number[], percent = false): string[] {
  if (percent) return scaledLabels(ticks.map((tick) => tick * 100)).map((text) => `${text}%`);
  const largest = Math.max(0, ...ticks.map(Math.abs));
  if (largest > 0 && largest < TINY && decimalsFor(stepOf(ticks)) > 3) return ticks.map(exponent);
  return largest < 1000 ? scaledLabels(ticks) : ticks.map((tick) => largeLabel(tick, stepOf(ticks)));
}

/** Labels of an axis of sizes: `0`, `256 MiB`, `1.5 GiB`. */
export function byteLabels(ticks: readonly number[]): string[] {
  const unit = byteUnit(Math.max(0, ...ticks));
  return ticks.map((tick) => {
    if (tick === 0) return "0";
    const own = byteUnit(tick);
    // A whole number of a smaller unit is shorter than a fraction of the larger one.
    const { size, name } = Number.isInteger(tick / own.size) ? own : unit;
    return `${clean(tick / size)}${NBSP}${name}`;
  });
}

/** `750`, `1k`, `1.25k`: no decimal that says nothing. */
function largeLabel(tick: number, step: number): string {
  const unit = UNITS.find(({ size }) => Math.abs(tick) >= size);
  if (unit === undefined) return fixed(tick, tick === 0 ? 0 : decimalsFor(step));
  const text = fixed(tick / unit.size, decimalsFor(clean(step / unit.size)));
  return `${text.includes(".") ? text.replace(/\.?0+$/, "") : text}${unit.suffix}`;
}

function scaledLabels(values: readonly number[]): string[] {
  const decimals = decimalsFor(stepOf(values));
  return values.map((value) => fixed(value, decimals));
}

function stepOf(ticks: readonly number[]): number {
  return clean(Math.abs(ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : (ticks[0] ?? 1)));
}

/** Labels of a logarithmic axis, each for itself: `0.01`, `1`, `100`, `1e−5`. */
export function logLabels(ticks: readonly number[], percent = false): string[] {
  if (percent) return logLabels(ticks.map((tick) => clean(tick * 100))).map((text) => `${text}%`);
  return ticks.map((tick) => {
    if (tick < 0.001 || tick >= 1e12) return exponent(tick);
    return tick >= 1000 ? (valueLabels([tick])[0] ?? "") : String(Number(tick.toPrecision(3)));
  });
}

/** Labels of an x axis that counts: in full up to 99,999, then `150k`, `1.25M`. */
export function countLabels(ticks: readonly number[]): string[] {
  const largest = Math.max(0, ...ticks.map(Math.abs));
  return largest < 100_000 ? ticks.map(formatInteger) : valueLabels(ticks);
}

/** Labels of a time axis in the reader's zone: the clock, and the date where a day begins. */
export function clockLabels(ticks: readonly number[], now: Date): string[] {
  const step = ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : 60;
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    if (step >= 86_400 || (at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0)) {
      return formatDate(at, now);
    }
    return step < 60 ? formatClock(at) : formatClockMinutes(at);
  });
}

/** Labels of an axis of seconds since the start: `0`, `20 min`, `2 h`, all in one unit. */
export function elapsedLabels(ticks: readonly number[]): string[] {
  const step = ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : (ticks[0] ?? 0);
  const [size, name] =
    step >= 86_400 ? [86_400, "d"] : step >= 3600 ? [3600, "h"] : step >= 60 ? [60, "min"] : [1, "s"];
  return ticks.map((tick) =>
    tick === 0 ? "0" : `${fixed(tick / size, decimalsFor(step / size))}${NBSP}${name}`,
  );
}
