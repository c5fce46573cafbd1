/** What belongs together, in one rank: a ring on the sample that is read and its rollout's others, a line under its group. */
import type { Schedule } from "@/api/types";
import type { GridGeometry } from "./grid-geometry";
import styles from "./schedule-grid.module.css";

export interface LaneRingsProps {
  schedule: Schedule;
  geometry: GridGeometry;
  rank: number;
  /** Index of the sample that is read; null: none. */
  hot: number | null;
}

export function LaneRings({ schedule, geometry, rank, hot }: LaneRingsProps) {
  if (hot === null) return null;
  const { rollout_id, group_id } = schedule.samples;
  const inGroup = geometry.places.flatMap((place, sample) =>
    place?.rank === rank && group_id[sample] === group_id[hot] ? [sample] : [],
  );
  return inGroup.map((sample) => (
    <i
      key={sample}
      className={rollout_id[sample] === rollout_id[hot] ? styles.ring : styles.groupLine}
      style={pieceBox(geometry, sample)}
    />
  ));
}

/** Where a sample lies in its lane; the two pixels between micro-batches are not part of it. */
function pieceBox({ ranks, places }: GridGeometry, sample: number): { left: string; width: string } {
  const place = places[sample];
  const cell = place && ranks[place.rank]?.cells[place.cell];
  const piece = cell?.pieces[place?.piece ?? 0];
  if (!cell || !piece) return { left: "0", width: "0" };
  const inner = `(${cell.width * 100}% - 2px)`;
  return {
    left: `calc(${cell.left * 100}% + ${inner} * ${piece.left})`,
    width: `calc(${inner} * ${piece.width})`,
  };
}
