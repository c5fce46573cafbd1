/** Sizes and learning rate of every step that is planned. */
import { useEffect, useMemo, useState } from "react";
import type { PlannedStep, RunPlan } from "@/api/types";
import { Chart } from "@/components/chart/chart";
import { ChartGroup, type XRange } from "@/components/chart/chart-group";
import { BATCH_SIZE } from "@/components/chart/metric-names";
import { MetricTrack, type TrackSeries } from "@/components/chart/metric-track";
import type { PlotConfig } from "@/components/chart/plot-config";
import { useCursor } from "@/components/chart/use-cursor";
import { formatInteger, formatMetric, formatPercent } from "@/lib/numbers";
import styles from "./plan.module.css";
import { scheduledNear } from "./plan-levels";

const LR = "lr";
/** Ranks whose counts are told one by one. */
const MOST_TOLD = 16;
/** One grid for both axes. */
const PART = { rows: 5, from: 0, to: 5 };
const SIZE_AXIS = { fromZero: true, percent: false, integer: true, canBeLog: false, part: PART };
const LR_AXIS = { fromZero: true, percent: false, integer: false, canBeLog: false, part: PART };
const VIEW = { log: false, bands: false, old: false, smoothing: 0 };

export function PlanChart({ plan }: { plan: RunPlan }) {
  const { group, size, lr, config } = useMemo(makeParts, []);
  const [showsTable, setShowsTable] = useState(false);
  const [zoom, setZoom] = useState<XRange | null>(null);
  useEffect(() => {
    size.setHistory([seriesOf(plan, (step) => step.global_batch_size)]);
    lr.setHistory([seriesOf(plan, (step) => step.lr)]);
    group.setDomain({ from: 0, to: Math.max(1, plan.steps.length) });
  }, [plan, group, size, lr]);
  // A plan of as many steps leaves the reader where they are: it may come while a run is still measured.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the number of steps is what makes it another axis
  useEffect(() => setZoom(null), [plan.steps.length]);
  useEffect(() => group.setZoom(zoom), [group, zoom]);
  return (
    <section className={styles.chart} aria-labelledby="plan-chart">
      <div className={styles.chartHead}>
        <h3 id="plan-chart">Batch size and learning rate by step</h3>
        <span>
          <i className={styles.keyArea} />
          {BATCH_SIZE}, left
        </span>
        <span>
          <i className={styles.keyLine} />
          lr, right
        </span>
      </div>
      <Chart
        group={group}
        config={config}
        label="Batch size and learning rate by step"
        className={styles.plot}
        showsTable={showsTable}
        onToggleTable={() => setShowsTable(!showsTable)}
        onZoom={setZoom}
        onOpenStep={() => {}}
      />
      <Reading plan={plan} group={group} />
    </section>
  );
}

function makeParts() {
  const [size, lr] = [new MetricTrack(BATCH_SIZE), new MetricTrack(LR)];
  const config: PlotConfig = {
    lines: [
      { track: size, kind: "area", side: "left", label: "Batch size" },
      { track: lr, kind: "line", side: "right", label: "LR" },
    ],
    left: SIZE_AXIS,
    right: LR_AXIS,
    view: VIEW,
    labelsOld: false,
  };
  return { group: new ChartGroup("step"), size, lr, config };
}

function seriesOf(plan: RunPlan, value: (step: RunPlan["steps"][number]) => number): TrackSeries {
  const step = plan.steps.map((one) => one.step);
  return {
    attempt: 1,
    superseded: false,
    total: step.length,
    sampled: false,
    x: step,
    step,
    last_step: step,
    value: plan.steps.map(value),
    min: null,
    max: null,
    non_finite: [],
  };
}

/** In a fixed place under the plot: the step under the cursor, without one the first. */
function Reading({ plan, group }: { plan: RunPlan; group: ChartGroup }) {
  const x = useCursor(group);
  const at = Math.min(plan.steps.length - 1, Math.max(0, Math.round(x ?? 0)));
  const step = plan.steps[at];
  if (!step) return null;
  const cut = scheduledNear(plan, at);
  return (
    <p className={styles.reading}>
      <b>Step {formatInteger(step.step)}</b>
      <span>
        {plan.kept_frac === 1 && "up to "}
        {formatInteger(step.global_batch_size)} samples
      </span>
      <span>LR {formatMetric(LR, step.lr)}</span>
      {cut?.geometry && (
        <span>
          {cut.step !== step.step && `as step ${formatInteger(cut.step)}: `}
          {formatInteger(cut.geometry.num_microbatches)}{" "}
          {cut.geometry.num_microbatches === 1 ? "micro-batch" : "micro-batches"} per rank
          {withoutDummies(cut.geometry)}, idle {formatPercent(cut.geometry.predicted_idle_frac)}, bound{" "}
          {formatPercent(cut.geometry.idle_bound_frac)}
        </span>
      )}
    </p>
  );
}

/** ` (4, 3 without dummies)`, by rank; nothing where every rank has as many. */
function withoutDummies({
  num_microbatches,
  real_micro_batches,
}: NonNullable<PlannedStep["geometry"]>): string {
  if (real_micro_batches.every((count) => count === num_microbatches)) return "";
  const told = real_micro_batches.slice(0, MOST_TOLD).map(formatInteger);
  return ` (${told.join(", ")}${real_micro_batches.length > MOST_TOLD ? ", …" : ""} without dummies)`;
}
