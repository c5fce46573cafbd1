/** What the colours and marks of the grid mean. */
import type { CSSProperties } from "react";
import type { Schedule } from "@/api/types";
import type { ColourScale } from "./cell-colours";
import { MANY_RANKS } from "./grid-geometry";
import styles from "./grid-legend.module.css";
import type { Colour } from "./schedule-search";

const COLOURED_BY: Record<Colour, string> = {
  tokens: "tokens of each sample",
  cost: "predicted cost of each sample",
  padding: "share of a micro-batch’s positions without a token",
  reward: "reward against its group",
  age: "policy updates since it was generated",
  carried: "how long each sample was carried over",
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
        {scale.high !== "" && (
          <span className={styles.scale} aria-hidden="true">
            {[0, 1, 2, 3, 4, 5, 6].map((index) => (
              <i key={index} style={{ background: `var(--${scale.kind}-${index})` }} />
            ))}
          </span>
        )}
        {scale.high}
      </span>
      <span>
        <i className={styles.idle} />
        {schedule.pp > 1 ? "idle, the pipeline’s fill and drain included" : "idle"}
      </span>
      {isOverCap && (
        <span>
          <i className={styles.over} />
          over cap
        </span>
      )}
      {hasDummies && (
        <span>
          <i className={styles.dummy} style={dummyFill(schedule, scale)} />
          {dummyText(schedule, scale)}
        </span>
      )}
      <span className="wide-only">
        Above each micro-batch: its tokens and samples. Colour: {COLOURED_BY[colour]}.
      </span>
      {schedule.micro_batches.length > MANY_RANKS && (
        <span>Ranks by their end, the latest first; the first and last eight are opened.</span>
      )}
    </div>
  );
}

function dummyText({ skips_dummies }: Schedule, { dummy }: ColourScale): string {
  if (skips_dummies) return "dummy, weight 0, skipped (pp 1)";
  return dummy === undefined ? "dummy, weight 0, runs" : "dummy, weight 0, runs: all of it is padding";
}

function dummyFill({ skips_dummies }: Schedule, { kind, dummy }: ColourScale): CSSProperties | undefined {
  return skips_dummies || dummy === undefined ? undefined : { background: `var(--${kind}-${dummy})` };
}
