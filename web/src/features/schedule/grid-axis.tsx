/** Seconds from the step's start to its barrier. */
import { clean, multiples, niceStep } from "@/components/chart/ticks";
import { NBSP } from "@/lib/numbers";
import styles from "./schedule-grid.module.css";

const MOST_TICKS = 6;

export function GridAxis({ barrierS }: { barrierS: number }) {
  if (barrierS <= 0) return null;
  // Below two seconds the labels would be fractions of a second.
  const [unit, name] = barrierS < 2 ? [0.001, "ms"] : [1, "s"];
  const end = barrierS / unit;
  const ticks = multiples(0, end, niceStep(end / MOST_TICKS));
  return (
    <div className={styles.axisRow} aria-hidden="true">
      <div className={styles.axis}>
        {ticks
          // The last one would be cut by the columns beside it.
          .filter((tick) => tick / end <= 0.96)
          .map((tick) => (
            <span key={tick} style={{ left: `${(tick / end) * 100}%` }}>
              {clean(tick).toLocaleString("en-US")}
              {NBSP}
              {name}
            </span>
          ))}
      </div>
    </div>
  );
}
