/** What the strip shows of all steps, a lane each, and how the odd step of a lane is found. */
import { fetchHistory } from "@/api/history";
import type { StepRow } from "@/api/types";
import { BATCH_SIZE, DROPPED, DUMMIES, IDLE, OVER_CAP } from "@/components/chart/metric-names";
import type { MetricTrack } from "@/components/chart/metric-track";
import { formatInteger, formatPercent } from "@/lib/numbers";
import { oddStep, type Pick, type StripColumn } from "./strip-columns";
import type { LaneKind } from "./strip-lane";

export interface Lane {
  name: string;
  label: string;
  kind: LaneKind;
  /** The button that looks for the oddest step, and which step that is. */
  find: string | null;
  /** The letter that presses it. */
  shortcut?: string;
  pick: Pick;
  /** The value that fills the lane where none is larger. */
  full?: number;
  value: (step: StepRow) => string;
}

export const LANES: readonly Lane[] = [
  {
    name: BATCH_SIZE,
    label: "Batch size",
    kind: "batch",
    find: "Smallest batch",
    pick: "least",
    value: (step) => formatInteger(step.global_batch_size),
  },
  {
    name: IDLE,
    label: "Idle",
    kind: "strong",
    find: "Most idle",
    shortcut: "i",
    pick: "most",
    full: 0.2,
    value: (step) => formatPercent(step.measured_idle_frac),
  },
  {
    name: OVER_CAP,
    label: "Over cap",
    kind: "strong",
    find: "Over cap",
    pick: "most",
    value: (step) => formatInteger(step.num_over_cap),
  },
  {
    name: DUMMIES,
    label: "Dummies",
    kind: "faint",
    find: null,
    pick: "most",
    value: (step) => formatInteger(step.num_dummies),
  },
  {
    name: DROPPED,
    label: "Dropped",
    kind: "strong",
    find: "Most dropped",
    pick: "most",
    value: (step) => formatInteger(step.num_dropped),
  },
];

/** The record behind a lane. */
export type TrackOf = (lane: Lane) => MetricTrack;

/** A column of several steps was drawn for one of them: that one. */
export async function exactStep(runId: string, lane: Lane, { step, lastStep }: StripColumn): Promise<number> {
  if (step === lastStep) return step;
  const { series } = await fetchHistory({
    runs: [runId],
    names: [lane.name],
    x: "step",
    from: step,
    to: lastStep + 1,
    maxPoints: 1000,
    agg: "none",
  });
  const columns = series.filter(({ superseded }) => !superseded);
  const steps = columns.flatMap((one) => one.step);
  const values = columns.flatMap((one) => one.value);
  return oddStep(steps, values, lane.pick) ?? step;
}
