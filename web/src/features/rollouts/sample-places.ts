/** Where in a step's schedule a rollout was trained: its samples, with rank and micro-batch. Pure. */
import type { Schedule } from "@/api/types";

export interface SamplePlace {
  sample: number;
  rank: number;
  microBatch: number;
  tokens: number;
}

/** Samples of each rollout. */
export function placesByRollout({ samples, micro_batches }: Schedule): Map<string, SamplePlace[]> {
  const places = new Map<string, SamplePlace[]>();
  micro_batches.forEach((rank, rankNumber) => {
    rank.forEach((own, microBatch) => {
      for (const sample of own) {
        const rollout = samples.rollout_id[sample] ?? "";
        const tokens = samples.num_tokens[sample] ?? 0;
        places.set(rollout, [
          ...(places.get(rollout) ?? []),
          { sample, rank: rankNumber, microBatch, tokens },
        ]);
      }
    });
  });
  return places;
}
