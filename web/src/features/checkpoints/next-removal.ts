/** Which checkpoints the next one pushes out. The rule is the driver's: so many of the newest stay, and those of steps
 * that are a multiple. Pure. */
import type { Checkpoint } from "@/api/types";

export interface KeepRule {
  keep_last: number;
  keep_every?: number | null | undefined;
}

/** Steps whose checkpoints go once another is written, the lowest first. Superseded ones have gone already. */
export function nextRemovals(
  checkpoints: readonly Checkpoint[],
  { keep_last, keep_every }: KeepRule,
): number[] {
  const there = new Set(checkpoints.filter(({ removed, superseded }) => !removed && !superseded).map(stepOf));
  const ascending = [...there].sort((a, b) => a - b);
  const old = ascending.slice(0, Math.max(0, ascending.length - (keep_last - 1)));
  return old.filter((step) => !keep_every || step % keep_every !== 0);
}

function stepOf({ step }: Checkpoint): number {
  return step;
}
