/** How moments are written: in the reader's zone, 24 h. Every function takes `now`, so that none reads the clock. */
import { formatElapsed } from "./durations";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY_MS = 86_400_000;

function two(value: number): string {
  return value.toString().padStart(2, "0");
}

function dayAndMonth(at: Date): string {
  return `${at.getDate()} ${MONTHS[at.getMonth()]}`;
}

function isSameDay(a: Date, b: Date): boolean {
  return a.getFullYear() === b.getFullYear() && a.getMonth() === b.getMonth() && a.getDate() === b.getDate();
}

/** `14:32:08`. */
export function formatClock(at: Date): string {
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** `14:32`, for a moment that is only estimated. */
export function formatClockMinutes(at: Date): string {
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** `10 Nov`, in another year `10 Nov 2025`. */
export function formatDate(at: Date, now: Date): string {
  return at.getFullYear() === now.getFullYear() ? dayAndMonth(at) : `${dayAndMonth(at)} ${at.getFullYear()}`;
}

/** `14:32:08` today, `12 Nov 14:32` this year, `12 Nov 2025` before. */
export function formatMoment(at: Date, now: Date): string {
  if (isSameDay(at, now)) return formatClock(at);
  if (at.getFullYear() === now.getFullYear()) return `${dayAndMonth(at)} ${formatClockMinutes(at)}`;
  return formatDate(at, now);
}

/** For lists: `17 h ago` up to a day, then `yesterday`, then the date. */
export function formatAgo(at: Date, now: Date): string {
  const age = now.getTime() - at.getTime();
  if (age < DAY_MS) return `${largestUnit(age / 1000)} ago`;
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  return isSameDay(at, yesterday) ? "yesterday" : formatDate(at, now);
}

function largestUnit(seconds: number): string {
  // Only the first of the two units: `17 h` of `17 h 6 min`.
  return formatElapsed(seconds).split(" ")[0] ?? "";
}

/** ISO 8601 with the reader's zone, then UTC; what hovering a time shows. */
export function formatIso(at: Date): string {
  const offset = -at.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
  const local = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${formatClock(at)}${zone}`;
  return `${local} · ${at.toISOString().replace(/\.\d+Z$/, "Z")}`;
}
