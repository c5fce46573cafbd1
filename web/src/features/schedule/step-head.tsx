/** Which step the grid shows, the way to its neighbours, and how the grid is drawn. */
import type { StepRow } from "@/api/types";
import { Button, IconButton } from "@/components/button";
import { Moment } from "@/components/moment";
import { Segmented } from "@/components/segmented";
import { formatInteger } from "@/lib/numbers";
import type { Colour, ScheduleSearch, ScheduleSearchPatch, Width } from "./schedule-search";
import styles from "./step-head.module.css";

const WIDTH_OPTIONS: { value: Width; label: string }[] = [
  { value: "measured", label: "Measured" },
  { value: "predicted", label: "Predicted" },
];
const COLOUR_LABELS: Record<Colour, string> = {
  tokens: "Tokens",
  cost: "Cost",
  padding: "Padding",
  reward: "Reward",
  age: "Age",
  carried: "Carried",
};

export interface StepHeadProps {
  step: number;
  newest: number;
  row: StepRow | null;
  /** Whether the page goes on to each new step. */
  isFollowing: boolean;
  /** A sample is read: its step stays, although there is a newer one. */
  isWaiting: boolean;
  /** Told whether a sample is read. */
  onRead: (isRead: boolean) => void;
  canFollow: boolean;
  /** Empty: there is no grid whose drawing could be chosen. */
  colours: readonly Colour[];
  search: ScheduleSearch;
  setSearch: (patch: ScheduleSearchPatch) => void;
  onStep: (by: number) => void;
}

export function StepHead(props: StepHeadProps) {
  const { step, newest, row, isFollowing, isWaiting, canFollow, colours, search, setSearch, onStep } = props;
  return (
    <div className={styles.head}>
      <div className={styles.step}>
        <IconButton icon="left" label="Step before" disabled={step <= 0} onClick={() => onStep(-1)} />
        <h2>Step {formatInteger(step)}</h2>
        <IconButton icon="right" label="Next step" disabled={step >= newest} onClick={() => onStep(1)} />
        <span className={styles.when}>
          {row && row.step === step && (
            <>
              <Moment at={row.ended_at} />, attempt {row.attempt}
              {row.phase === "warm_start" && ", warm start"}
              {row.status !== null && row.status !== "trained" && (
                <b className={styles.skipped}>{SKIPPED[row.status]}</b>
              )}
            </>
          )}
          {isFollowing && (
            <span className={styles.newest}>{isWaiting ? "waits while it is read" : "newest step"}</span>
          )}
        </span>
        {canFollow && !isFollowing && (
          <Button variant="ghost" onClick={() => setSearch({ step: undefined })}>
            Follow the newest
          </Button>
        )}
      </div>
      {colours.length > 0 && (
        <div className={styles.choices}>
          <span className={styles.width}>
            <span className={styles.label}>Width</span>
            <Segmented
              label="Width"
              options={WIDTH_OPTIONS}
              value={search.width ?? "measured"}
              onChange={(width) => setSearch({ width })}
            />
          </span>
          <span className={styles.label}>Colour</span>
          <Segmented
            label="Colour"
            options={colours.map((value) => ({ value, label: COLOUR_LABELS[value] }))}
            value={search.colour ?? "tokens"}
            onChange={(colour) => setSearch({ colour })}
          />
        </div>
      )}
    </div>
  );
}

const SKIPPED: Record<Exclude<StepRow["status"], "trained" | null>, string> = {
  "skipped:no_signal": "skipped: no loss token",
  "skipped:non_finite": "skipped: loss or gradient not finite",
};
