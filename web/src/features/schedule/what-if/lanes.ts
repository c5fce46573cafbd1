/** Both schedules of a what-if as boxes on one time axis, by predicted time. Pure. */
import type { Geometry, Schedule, WhatIf } from "@/api/types";
import { type Piece, piecesOf, startsOf } from "../grid-geometry";
import { geometryOf } from "./choices";

export interface LaneBox {
  /** Fractions of the axis. */
  left: number;
  width: number;
  isDummy: boolean;
  isOverCap: boolean;
  pieces: Piece[];
}

export interface Lanes {
  /** [dp_rank][micro-batch]. */
  ranks: LaneBox[][];
  /** Where the last rank is done, a pipeline's fill and drain included; the longer of both schedules is 1. */
  end: number;
}

/** The longer of both schedules fills its axis. Without an answer what ran stands alone. */
export function lanesOfBoth(
  schedule: Schedule,
  answer: WhatIf | undefined,
): { ran: Lanes; asked: Lanes | null } {
  const geometry = geometryOf(schedule);
  if (!answer) return { ran: alone(schedule, geometry), asked: null };
  const { ran_figures: ran, asked_figures: asked } = answer;
  const longest = Math.max(asked.makespan, ran.makespan);
  return {
    ran: lanes(schedule, schedule, geometry, { makespan: ran.makespan, longest }),
    asked: lanes(schedule, answer, answer.asked, { makespan: asked.makespan, longest }),
  };
}

function lanes(
  schedule: Schedule,
  parts: Parts,
  geometry: Geometry,
  { makespan, longest }: { makespan: number; longest: number },
): Lanes {
  return { ranks: boxes(schedule, parts, geometry, longest), end: share(makespan, longest) };
}

function alone(schedule: Schedule, geometry: Geometry): Lanes {
  const ends = boxes(schedule, schedule, geometry, 1).flatMap((rank) =>
    rank.map(({ left, width }) => left + width),
  );
  const longest = Math.max(0, ...ends);
  return lanes(schedule, schedule, geometry, { makespan: longest, longest });
}

type Parts = Pick<WhatIf, "micro_batches" | "predicted_cost">;

function boxes(schedule: Schedule, parts: Parts, geometry: Geometry, longest: number): LaneBox[][] {
  const cap = geometry.token_cap === null ? null : geometry.token_cap * geometry.cp;
  // A stage of a pipeline has its part of each micro-batch.
  const costs = parts.predicted_cost.map((rank) => rank.map((cost) => cost / geometry.pp));
  const starts = startsOf(costs, geometry.barrier);
  return parts.micro_batches.map((microBatches, rank) =>
    microBatches.map((samples, index) => ({
      left: share(starts[rank]?.[index] ?? 0, longest),
      width: share(costs[rank]?.[index] ?? 0, longest),
      isDummy: samples.length === 0,
      isOverCap: cap !== null && tokensOf(schedule, samples) > cap,
      pieces: piecesOf(samples, schedule.sample_cost),
    })),
  );
}

function share(value: number, whole: number): number {
  return whole > 0 ? value / whole : 0;
}

function tokensOf({ samples: { num_tokens } }: Schedule, samples: readonly number[]): number {
  return samples.reduce((total, sample) => total + (num_tokens[sample] ?? 0), 0);
}
