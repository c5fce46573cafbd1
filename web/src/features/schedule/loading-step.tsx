/** A step while it loads: its head, and surfaces where its grid, its facts and the what-if will stand. */
import type { Run } from "@/api/types";
import { Blank } from "@/components/blank";
import { LoadingBars } from "@/components/loading-bars";
import styles from "./schedule-page.module.css";
import { StepHead, type StepHeadProps } from "./step-head";

/** More ranks are rarely seen at once. */
const MOST_RANKS = 8;
const LANE_PX = 52;
/** Finding, heads, axis and legend take the height of so many lanes more. */
const OTHER_LANES = 2.6;
const FACT_PX = 32;

export interface LoadingStepProps {
  run: Run;
  head: Omit<StepHeadProps, "row" | "colours">;
  onRetry: () => void;
}

export function LoadingStep({ run, head, onRetry }: LoadingStepProps) {
  const lanes = Math.min(MOST_RANKS, run.spec?.parallelism.dp ?? MOST_RANKS) + OTHER_LANES;
  const rows = Math.round(lanes);
  return (
    <>
      <div className={styles.columns}>
        <div className={styles.left}>
          <div className={styles.panel}>
            <StepHead {...head} row={null} colours={[]} />
            <LoadingBars rows={rows} rowHeight={(lanes / rows) * LANE_PX} onRetry={onRetry} />
          </div>
          <Facts rows={4} />
        </div>
        <div className={styles.facts}>
          <Facts rows={8} />
          <Facts rows={5} />
        </div>
      </div>
      {run.kind === "managed" && <Facts rows={13} />}
    </>
  );
}

function Facts({ rows }: { rows: number }) {
  return (
    <Blank minHeight={rows * FACT_PX}>
      <LoadingBars rows={rows} rowHeight={FACT_PX} hasWords={false} />
    </Blank>
  );
}
