/** What stands for steps without a timeline: under a picture that lacks some, or in its place. */
import type { StepTimeline } from "@/api/types";
import { EmptyState } from "@/components/empty-state";
import { NotKept } from "@/components/not-kept";
import { formatCount, formatInteger, formatRange } from "@/lib/numbers";
import styles from "./timeline.module.css";

export interface MissingStepsProps {
  items: readonly StepTimeline[];
  /** The first step that had no room; null: all had. */
  nextFrom: number | null;
  last: number;
}

/** Steps of the range that the picture lacks. */
export function MissingSteps({ items, nextFrom, last }: MissingStepsProps) {
  const without = items.filter(({ timeline }) => timeline === null);
  const isPart = without.length > 0 && without.length < items.length;
  if (nextFrom === null && !isPart) return null;
  return (
    <p className={styles.none}>
      {nextFrom !== null &&
        `Steps ${formatRange(nextFrom, last)} have no room in one picture. Look at fewer steps for them. `}
      {isPart &&
        `${formatCount(without.length, "step")} without a timeline, the first is ${formatInteger(without[0]?.step ?? 0)}.`}
    </p>
  );
}

export function NoTimeline({ runId, first, last }: { runId: string; first: number; last: number }) {
  const isOne = first === last;
  return (
    <EmptyState title={`No timeline of ${isOne ? "this step" : "these steps"}`}>
      <NotKept
        runId={runId}
        kind="timelines"
        what="It is not kept any more"
        step={last}
        otherwise="It was not measured."
      />{" "}
      {isOne ? "Its" : "Their"} counts and metrics are complete.
    </EmptyState>
  );
}
