/** How lengths of time are written: the two largest units, `17 h 6 min`. */
import { NBSP } from "./numbers";

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;

function pair(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const total = Math.round(seconds / small);
  const perLarge = large / small;
  const rest = total % perLarge;
  const head = `${Math.floor(total / perLarge)}${NBSP}${largeName}`;
  return rest === 0 ? head : `${head} ${rest}${NBSP}${smallName}`;
}

/** `840 ms` · `42.8 s` · `4 min 51 s` · `17 h 6 min` · `1 d 2 h`, for seconds ≥ 0. */
export function formatDuration(seconds: number): string {
  // Each bound lies where rounding would otherwise print a full larger unit, such as 60.0 s.
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)}${NBSP}ms`;
  if (seconds < MINUTE_S - 0.05) return `${seconds.toFixed(1)}${NBSP}s`;
  if (seconds < HOUR_S - 0.5) return pair(seconds, MINUTE_S, "min", 1, "s");
  if (seconds < DAY_S - MINUTE_S / 2) return pair(seconds, HOUR_S, "h", MINUTE_S, "min");
  return pair(seconds, DAY_S, "d", HOUR_S, "h");
}

/** The same without decimals and milliseconds, for clocks that tick: `50 s`, `4 min 51 s`. */
export function formatElapsed(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  return whole < MINUTE_S ? `${whole}${NBSP}s` : formatDuration(whole);
}
