/** One step: its head, the finding, the grid with its legend, and the facts beside it. */
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { ApiProblem, problemSentence } from "@/api/problem";
import type { Run, StepRow, StepSchedule } from "@/api/types";
import { Button } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import { LoadingBars } from "@/components/loading-bars";
import { NotKept } from "@/components/not-kept";
import { ProblemPanel } from "@/components/problem-panel";
import { formatInteger, formatRange } from "@/lib/numbers";
import { colourChoices, colourScale } from "./cell-colours";
import { CertificatePanel } from "./certificate-panel";
import { CountsPanel, DecisionPanel, IdlePanel } from "./fact-panels";
import { FindingLine } from "./finding-line";
import { gridGeometry } from "./grid-geometry";
import { GridLegend } from "./grid-legend";
import { ScheduleGrid } from "./schedule-grid";
import styles from "./schedule-page.module.css";
import type { Colour } from "./schedule-search";
import { StepHead, type StepHeadProps } from "./step-head";
import type { ShownStep } from "./use-step";
import { WhatIfPanel } from "./what-if/what-if-panel";

const RETRY_S = 5;
const GRID_ROWS = 8;

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
      <div className={styles.nothing}>
        <EmptyState
          title={`Step ${formatInteger(step)} is not recorded`}
          actions={<Button onClick={() => setSearch({ step: undefined })}>Newest step</Button>}
        >
          The run has steps {formatRange(0, newest)}.
        </EmptyState>
      </div>
    );
  }
  if (error && record?.step !== step) {
    return (
      <div className={styles.nothing}>
        <ProblemPanel
          title={`Step ${formatInteger(step)} did not load`}
          detail={problemSentence(error)}
          onRetry={retry}
          retryAfterS={RETRY_S}
        />
      </div>
    );
  }
  if (!row || !record) {
    return (
      <div className={styles.nothing}>
        <LoadingBars rows={GRID_ROWS} rowHeight={52} onRetry={retry} />
      </div>
    );
  }
  return <Loaded run={run} row={row} record={record} {...head} />;
}

type LoadedProps = Omit<StepHeadProps, "row" | "colours"> & { run: Run; row: StepRow; record: StepSchedule };

function Loaded({ run, row, record, ...head }: LoadedProps) {
  const { schedule } = record;
  const { search } = head;
  const navigate = useNavigate();
  const width = search.width ?? "measured";
  const geometry = useMemo(() => gridGeometry(schedule, width, row), [schedule, width, row]);
  const colours = colourChoices(schedule, row);
  const wanted = search.colour ?? "tokens";
  const colour: Colour = colours.includes(wanted) ? wanted : "tokens";
  const scale = useMemo(() => colourScale(schedule, colour, row), [schedule, colour, row]);
  const measured = useMemo(
    () => (width === "measured" ? geometry : gridGeometry(schedule, "measured", row)),
    [geometry, width, schedule, row],
  );
  // A sample is one of a step: the address names both. The sample that is shown is closed.
  const onShow = (sample: number) =>
    head.setSearch({ step: row.step, sample: sample === search.sample ? undefined : sample });
  const label = `Schedule of step ${formatInteger(row.step)}`;
  return (
    <>
      <div className={styles.columns}>
        <div className={styles.left}>
          <section className={styles.panel} aria-label={label}>
            <StepHead {...head} row={row} colours={colours} search={{ ...search, colour }} />
            <FindingLine record={record} row={row} onShow={onShow} />
            <ScheduleGrid
              runId={run.id}
              schedule={schedule}
              geometry={geometry}
              scale={scale}
              step={row}
              label={label}
              pointed={search.sample ?? null}
              onClose={() => head.setSearch({ sample: undefined })}
              onOpen={(rollout) =>
                navigate({ to: "/runs/$runId/rollouts", params: { runId: run.id }, search: { rollout } })
              }
            />
            <GridLegend
              schedule={schedule}
              scale={scale}
              colour={colour}
              isOverCap={(row.num_over_cap ?? 0) > 0}
            />
          </section>
          <CountsPanel step={row} />
        </div>
        <aside className={styles.facts} aria-label={`Facts of step ${formatInteger(row.step)}`}>
          <IdlePanel
            step={row}
            dpSize={geometry.ranks.length}
            layout={run.parallelism ?? "this layout"}
            barrierS={measured.barrierS}
            isPipeline={schedule.pp > 1}
            schedule={schedule}
            onShow={onShow}
          />
          <CertificatePanel record={record} />
          {row.batch_decision && <DecisionPanel decision={row.batch_decision} />}
        </aside>
      </div>
      {run.kind === "managed" && (
        <WhatIfPanel
          run={run}
          record={record}
          scale={scale}
          colour={colour}
          step={row}
          search={search}
          setSearch={head.setSearch}
        />
      )}
    </>
  );
}
