/** A step with its schedule: its head, the finding, the grid with its legend, and the facts beside it. */
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Run, Schedule, StepRow, StepSchedule } from "@/api/types";
import { formatInteger } from "@/lib/numbers";
import { type ColourScale, colourChoices, colourScale } from "./cell-colours";
import { CertificatePanel } from "./certificate-panel";
import { CountsPanel, DecisionPanel, IdlePanel } from "./fact-panels";
import { FindingLine } from "./finding-line";
import { type GridGeometry, gridGeometry } from "./grid-geometry";
import { GridLegend } from "./grid-legend";
import { ScheduleGrid } from "./schedule-grid";
import styles from "./schedule-page.module.css";
import type { Colour, ScheduleSearch } from "./schedule-search";
import { StepHead, type StepHeadProps } from "./step-head";
import { WhatIfPanel } from "./what-if/what-if-panel";

export interface RecordedStepProps extends Omit<StepHeadProps, "row" | "colours"> {
  run: Run;
  row: StepRow;
  record: StepSchedule;
}

export function RecordedStep({ run, row, record, ...head }: RecordedStepProps) {
  const { search, setSearch } = head;
  const drawing = useDrawing(record.schedule, row, search);
  const { colour, scale } = drawing;
  const step = {
    run,
    row,
    record,
    drawing,
    onShow: (sample: number) => setSearch(shown(row, search, sample)),
  };
  return (
    <>
      <div className={styles.columns}>
        <div className={styles.left}>
          <GridPanel {...step} head={head} />
          <CountsPanel step={row} />
        </div>
        <Facts {...step} />
      </div>
      {run.kind === "managed" && (
        <WhatIfPanel
          run={run}
          record={record}
          scale={scale}
          colour={colour}
          step={row}
          search={search}
          setSearch={setSearch}
        />
      )}
    </>
  );
}

/** A sample is one of a step: the address names both. The sample that is shown is closed. */
function shown({ step }: StepRow, search: ScheduleSearch, sample: number) {
  return { step, sample: sample === search.sample ? undefined : sample };
}

interface Drawing {
  geometry: GridGeometry;
  /** Where the step ended as it was measured, whatever widths are drawn. */
  barrierS: number;
  colours: readonly Colour[];
  colour: Colour;
  scale: ColourScale;
}

/** How the address wants the grid drawn, as far as this step can be. */
function useDrawing(schedule: Schedule, row: StepRow, search: ScheduleSearch): Drawing {
  const width = search.width ?? "measured";
  const geometry = useMemo(() => gridGeometry(schedule, width, row), [schedule, width, row]);
  const measured = useMemo(
    () => (width === "measured" ? geometry : gridGeometry(schedule, "measured", row)),
    [geometry, width, schedule, row],
  );
  const colours = colourChoices(schedule, row);
  const wanted = search.colour ?? "tokens";
  const colour: Colour = colours.includes(wanted) ? wanted : "tokens";
  const scale = useMemo(() => colourScale(schedule, colour, row), [schedule, colour, row]);
  return { geometry, barrierS: measured.barrierS, colours, colour, scale };
}

interface PartProps extends Pick<RecordedStepProps, "run" | "row" | "record"> {
  drawing: Drawing;
  /** Shows a sample, or closes the one that is shown. */
  onShow: (sample: number) => void;
}

interface GridPanelProps extends PartProps {
  head: Omit<StepHeadProps, "row" | "colours">;
}

function GridPanel({ run, row, record, drawing, onShow, head }: GridPanelProps) {
  const { schedule } = record;
  const { geometry, colours, colour, scale } = drawing;
  const { search, setSearch } = head;
  const navigate = useNavigate();
  const label = `Schedule of step ${formatInteger(row.step)}`;
  return (
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
        onRead={head.onRead}
        onClose={() => setSearch({ sample: undefined })}
        onOpen={(rollout) =>
          navigate({ to: "/runs/$runId/rollouts", params: { runId: run.id }, search: { rollout } })
        }
      />
      <GridLegend schedule={schedule} scale={scale} colour={colour} isOverCap={(row.num_over_cap ?? 0) > 0} />
    </section>
  );
}

function Facts({ run, row, record, drawing, onShow }: PartProps) {
  return (
    <aside className={styles.facts} aria-label={`Facts of step ${formatInteger(row.step)}`}>
      <IdlePanel
        step={row}
        dpSize={drawing.geometry.ranks.length}
        layout={run.parallelism ?? "this layout"}
        barrierS={drawing.barrierS}
        isPipeline={record.schedule.pp > 1}
        schedule={record.schedule}
        onShow={onShow}
      />
      <CertificatePanel record={record} />
      {row.batch_decision && <DecisionPanel decision={row.batch_decision} />}
    </aside>
  );
}
