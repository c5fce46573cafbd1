/** What belongs together with a sample: the other samples of its rollout, and those of its group. Pure. */
import type { Schedule } from "@/api/types";
import type { GridGeometry } from "./grid-geometry";

export interface Related {
  sample: number;
  /** The sample itself, or of the same rollout; otherwise only of its group. */
  isSibling: boolean;
}

/** By rank; of no sample nothing is related. */
export function relatedTo(
  schedule: Schedule,
  { places }: GridGeometry,
  sample: number | null,
): Map<number, Related[]> {
  const byRank = new Map<number, Related[]>();
  if (sample === null) return byRank;
  const { rollout_id, group_id } = schedule.samples;
  places.forEach((place, other) => {
    if (!place || group_id[other] !== group_id[sample]) return;
    const known = byRank.get(place.rank) ?? [];
    known.push({ sample: other, isSibling: rollout_id[other] === rollout_id[sample] });
    byRank.set(place.rank, known);
  });
  return byRank;
}
