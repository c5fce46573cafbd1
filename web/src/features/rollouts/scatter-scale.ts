/** Reward against length: where the dots lie. Pure. */
import { linearAxis, logAxis } from "@/components/chart/ticks";
import { formatCompact } from "@/lib/numbers";

export interface ScatterScale {
  /** Shares of the width and of the height from the top. */
  x: (tokens: number) => number;
  y: (reward: number) => number;
  xTicks: { at: number; text: string }[];
  yTicks: { at: number; text: string }[];
}

export function scatterScale(tokens: readonly number[], rewards: readonly number[]): ScatterScale {
  const lengths = tokens.map((count) => Math.max(1, count));
  const along = logAxis(Math.min(...lengths), Math.max(...lengths, Math.min(...lengths) * 1.5), 4);
  const up = linearAxis(Math.min(0, ...rewards), Math.max(1, ...rewards), 3);
  const [left, right] = [Math.log(along.min), Math.log(along.max)];
  const x = (count: number) => (Math.log(Math.max(1, count)) - left) / (right - left);
  const y = (reward: number) => 1 - (reward - up.min) / (up.max - up.min);
  return {
    x,
    y,
    xTicks: along.ticks.map((tick) => ({ at: x(tick), text: formatCompact(tick) })),
    yTicks: up.ticks.map((tick) => ({ at: y(tick), text: formatCompact(tick) })),
  };
}
