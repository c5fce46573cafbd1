/** Ticks and labels of the shared x axis, whatever it counts. Pure. */

import { formatDuration } from "@/lib/durations";
import { formatInteger, NBSP } from "@/lib/numbers";
import { formatMoment } from "@/lib/times";
import type { XKind, XRange } from "./chart-group";
import { clockLabels, countLabels, elapsedLabels } from "./tick-labels";
import { countTicks, secondsTicks } from "./ticks";

export interface XLabel {
  x: number;
  text: string;
}

function zipped(ticks: number[], texts: string[]): XLabel[] {
  return ticks.map((x, i) => ({ x, text: texts[i] ?? "" }));
}

/** At most about `most` labels. `now` decides how days are named. */
export function xLabels(kind: XKind, { from, to }: XRange, most: number, now: Date): XLabel[] {
  if (kind === "time") {
    const zone = -new Date(from * 1000).getTimezoneOffset() * 60;
    const ticks = secondsTicks(from, to, most, zone);
    return zipped(ticks, clockLabels(ticks, now));
  }
  if (kind === "relative") {
    const ticks = secondsTicks(from, to, most);
    return zipped(ticks, elapsedLabels(ticks));
  }
  const ticks = countTicks(from, to, most);
  return zipped(ticks, countLabels(ticks));
}

/** A single x in words: `step 1,118`, `12,034 samples`, `12 Nov 11:52`, `2 h 4 min`. */
export function xInWords(kind: XKind, x: number, now: Date): string {
  if (kind === "step") return `step ${formatInteger(x)}`;
  if (kind === "time") return formatMoment(new Date(x * 1000), now);
  if (kind === "relative") return formatDuration(Math.max(0, x));
  return `${formatInteger(x)}${NBSP}${kind}`;
}
