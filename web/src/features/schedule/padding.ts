/** How much of what a micro-batch computed holds no token: ends of rows, and all of a dummy that runs. Pure. */
import type { Schedule, StepRow } from "@/api/types";

export interface Padding {
  /** Positions without a token. */
  padding: number;
  /** All positions that were computed; 0 where nothing was. */
  positions: number;
}

/** [rank][micro-batch]; null where neither the micro-batches' positions nor a step without padding were told. */
export function paddingOf(schedule: Schedule, step: PaddedStep): Padding[][] | null {
  if (schedule.num_positions.length === 0 && step.padding_frac !== 0) return null;
  return schedule.micro_batches.map((own, rank) =>
    own.map((_, cell) => paddingAt(schedule, { rank, cell }, step) ?? { padding: 0, positions: 0 }),
  );
}

/** Of one micro-batch; null as above. */
export function paddingAt(
  { micro_batches, num_positions, samples }: Schedule,
  { rank, cell }: { rank: number; cell: number },
  step: PaddedStep,
): Padding | null {
  const isTold = num_positions.length > 0;
  // A step without padding has none in any of its micro-batches.
  if (!isTold && step.padding_frac !== 0) return null;
  const members = micro_batches[rank]?.[cell] ?? [];
  const tokens = members.reduce((total, sample) => total + (samples.num_tokens[sample] ?? 0), 0);
  const positions = isTold ? (num_positions[rank]?.[cell] ?? 0) : tokens;
  return { padding: Math.max(0, positions - tokens), positions };
}

export type PaddedStep = Pick<StepRow, "padding_frac">;

export function paddingShare({ padding, positions }: Padding): number {
  return positions > 0 ? padding / positions : 0;
}

export interface PaddedPlace {
  rank: number;
  cell: number;
  share: number;
}

/** The micro-batch with samples of which most is padding; null where none has any. */
export function mostPadded(schedule: Schedule, padding: readonly Padding[][]): PaddedPlace | null {
  const places = schedule.micro_batches.flatMap((own, rank) =>
    own.flatMap((members, cell): PaddedPlace[] => {
      const here = padding[rank]?.[cell];
      return members.length > 0 && here ? [{ rank, cell, share: paddingShare(here) }] : [];
    }),
  );
  const most = places.reduce<PaddedPlace | null>(
    (best, place) => (best && best.share >= place.share ? best : place),
    null,
  );
  return most && most.share > 0 ? most : null;
}
