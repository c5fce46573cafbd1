/** What the colours and marks of the grid mean. */
import type { Schedule } from "@/api/types";
import type { ColourScale } from "./cell-colours";
import styles from "./grid-legend.module.css";
import type { Colour } from "./schedule-search";

const COLOURED_BY: Record<Colour, string> = {
  tokens: "coloured by the tokens of each sample",
  cost: "coloured by the predicted cost of each sample",
  reward: "coloured by reward against the mean of the group",
  age: "coloured by policy updates since it was generated",
  carried: "coloured by how long each sample was carried over",
};

export interface GridLegendProps {
  schedule: Schedule;
  scale: ColourScale;
  colour: Colour;
  isOverCap: boolean;
}

export function GridLegend({ schedule, scale, colour, isOverCap }: GridLegendProps) {
  const hasDummies = schedule.micro_batches.some((rank) => rank.some(({ length }) => length === 0));
  return (
    <div className={styles.legend}>
      <span>
        {scale.low}
        <span className={styles.scale} aria-hidden="true">
          {[0, 1, 2, 3, 4, 5, 6].map((index) => (
            <i key={index} style={{ background: `var(--${scale.kind}-${index})` }} />
          ))}
        </span>
        {scale.high}
      </span>
      <span>
        <i className={styles.idle} />
        idle
      </span>
      {isOverCap && (
        <span>
          <i className={styles.over} />
          over cap
        </span>
      )}
      {hasDummies && (
        <span>
          <i className={styles.dummy} />
          {schedule.skips_dummies ? "dummy, weight 0, skipped (pp 1)" : "dummy, weight 0, runs"}
        </span>
      )}
      <span className="wide-only">Above each micro-batch: its tokens and samples; {COLOURED_BY[colour]}</span>
    </div>
  );
}
