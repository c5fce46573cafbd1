/** What belongs together, in one rank: a ring on the sample that is read and its rollout's others, a line under its group. */
import type { GridGeometry } from "./grid-geometry";
import type { Related } from "./related";
import styles from "./schedule-grid.module.css";

export interface LaneRingsProps {
  geometry: GridGeometry;
  /** Of the sample that is read, those in this rank. */
  related: readonly Related[] | undefined;
}

export function LaneRings({ geometry, related = [] }: LaneRingsProps) {
  return related.map(({ sample, isSibling }) => (
    <i
      key={sample}
      className={isSibling ? styles.ring : styles.groupLine}
      data-sample={sample}
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
