/** The name of a row at its left, and at its right how busy it is in the window. */
import type { XRange } from "@/components/chart/chart-group";
import { Icon } from "@/components/icon";
import { formatCount, formatPercent } from "@/lib/numbers";
import type { Row } from "./lane-rows";
import styles from "./timeline.module.css";
import { busyFrac, type Timeline } from "./timeline-model";

export interface RowFactsProps {
  row: Row;
  timeline: Timeline;
  range: XRange;
  onFold: (kind: string) => void;
}

export function RowFacts({ row, timeline, range, onFold }: RowFactsProps) {
  const lanes = (row.type === "kind" ? row.lanes : [row.lane]).flatMap(
    (index) => timeline.lanes[index] ?? [],
  );
  const busy = lanes.reduce((sum, lane) => sum + busyFrac(lane, range.from, range.to), 0) / lanes.length;
  return (
    <div className={styles.row} style={{ top: row.top, height: row.height }} data-kind={row.type}>
      {row.type === "kind" ? (
        <button
          type="button"
          className={styles.fold}
          aria-expanded={!row.isFolded}
          onClick={() => onFold(row.kind)}
        >
          <Icon name={row.isFolded ? "right" : "down"} size={12} />
          <bdi>{formatCount(row.lanes.length, row.kind)}</bdi>
        </button>
      ) : (
        <bdi className={styles.actor} title={row.label}>
          {row.label}
        </bdi>
      )}
      <span className={styles.busy}>{formatPercent(busy)}</span>
    </div>
  );
}
