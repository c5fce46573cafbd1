/** One step as far as it is there: recorded with its schedule, without one, not recorded, not loaded. */
import { ApiProblem, problemSentence } from "@/api/problem";
import type { Run } from "@/api/types";
import { Blank } from "@/components/blank";
import { Button } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import { NotKept } from "@/components/not-kept";
import { ProblemPanel } from "@/components/problem-panel";
import { formatInteger, formatRange } from "@/lib/numbers";
import { CountsPanel } from "./fact-panels";
import { LoadingStep } from "./loading-step";
import { RecordedStep } from "./recorded-step";
import styles from "./schedule-page.module.css";
import { StepHead, type StepHeadProps } from "./step-head";
import type { ShownStep } from "./use-step";

const RETRY_S = 5;

export interface StepViewProps extends Omit<StepHeadProps, "row" | "colours"> {
  run: Run;
  shown: ShownStep;
}

export function StepView({ run, shown, ...head }: StepViewProps) {
  const { row, record, isWithoutSchedule, error, retry } = shown;
  const { step, newest, setSearch } = head;
  if (isWithoutSchedule && row?.step === step) {
    return (
      <>
        <section className={styles.panel} aria-label={`Step ${formatInteger(step)}`}>
          <StepHead {...head} row={row} colours={[]} />
          <EmptyState title="No schedule of this step">
            <NotKept
              runId={run.id}
              kind="schedules"
              what="It is older than what is kept"
              step={step}
              otherwise="It was recorded without one."
            />{" "}
            Its counts and metrics are complete.
          </EmptyState>
        </section>
        <CountsPanel step={row} />
      </>
    );
  }
  if (error instanceof ApiProblem && error.isMissing) {
    return (
      <Blank>
        <EmptyState
          title={`Step ${formatInteger(step)} is not recorded`}
          actions={<Button onClick={() => setSearch({ step: undefined })}>Newest step</Button>}
        >
          The run has steps {formatRange(0, newest)}.
        </EmptyState>
      </Blank>
    );
  }
  if (error && record?.step !== step) {
    return (
      <Blank>
        <ProblemPanel
          title={`Step ${formatInteger(step)} did not load`}
          detail={problemSentence(error)}
          onRetry={retry}
          retryAfterS={RETRY_S}
        />
      </Blank>
    );
  }
  if (!row || !record) return <LoadingStep run={run} head={head} onRetry={retry} />;
  return <RecordedStep run={run} row={row} record={record} {...head} />;
}
