/** The micro-batches of a rank as ticks: filled where samples run, dashed where a dummy stands in. */
import { formatInteger } from "@/lib/numbers";
import type { Cell } from "./grid-geometry";
import styles from "./schedule-grid.module.css";

const MOST_TICKS = 10;

export function Slots({ cells }: { cells: readonly Cell[] }) {
  const dummies = cells.filter(({ isDummy }) => isDummy).length;
  const words = `${formatInteger(cells.length - dummies)} of ${formatInteger(cells.length)}`;
  if (cells.length > MOST_TICKS) return <span title={`${words} slots hold samples`}>{words}</span>;
  return (
    <span className={styles.slots} role="img" aria-label={`${words} slots hold samples`}>
      {cells.map(({ index, isDummy }) => (
        <i key={index} data-dummy={isDummy || undefined} />
      ))}
    </span>
  );
}
