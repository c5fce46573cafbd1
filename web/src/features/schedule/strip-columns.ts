/** The lanes of the strip over all steps: one column per point or bucket, its largest value shown. Pure. */
import type { MetricTrack } from "@/components/chart/metric-track";
import type { Find } from "./schedule-search";

export type Pick = "most" | "least";

export interface StripColumn {
  step: number;
  lastStep: number;
  most: number;
  least: number;
}

export function stripColumns(track: MetricTrack): StripColumn[] {
  const { step, lastStep, low, high, value } = track.columns;
  return step.flatMap((first, i) => {
    const [least, most] = [low[i] ?? value[i], high[i] ?? value[i]];
    if (least === null || most === null || least === undefined || most === undefined) return [];
    return [{ step: first, lastStep: lastStep[i] ?? first, most, least }];
  });
}

/** Steps of one phase, both ends included; `last` null: until the newest. */
export interface PhaseSpan {
  name: "warm start" | "RL";
  first: number;
  last: number | null;
}

/** Where a reader of that step looks for odd ones unless told otherwise; null: the run has one phase. */
export function findOf(step: number | null, firstRlStep: number | null): Find | null {
  if (firstRlStep === null || firstRlStep === 0) return null;
  return step !== null && step < firstRlStep ? "warm" : "rl";
}

/** The steps in which odd ones are looked for; null: all. */
export function spanOf(find: Find | null, firstRlStep: number | null): PhaseSpan | null {
  if (find === null || find === "all" || firstRlStep === null) return null;
  return find === "warm"
    ? { name: "warm start", first: 0, last: firstRlStep - 1 }
    : { name: "RL", first: firstRlStep, last: null };
}

/** The columns of a phase; one that holds steps of both phases only where there is no other. */
export function columnsIn(columns: readonly StripColumn[], phase: PhaseSpan | null): StripColumn[] {
  if (phase === null) return [...columns];
  const last = phase.last ?? Number.POSITIVE_INFINITY;
  const whole = columns.filter((column) => column.step >= phase.first && column.lastStep <= last);
  return whole.length > 0
    ? whole
    : columns.filter((column) => column.lastStep >= phase.first && column.step <= last);
}

/** The columns that hold the oddest steps, oddest first; with `most` only those above 0. */
export function oddest(columns: readonly StripColumn[], pick: Pick): StripColumn[] {
  if (pick === "least") return [...columns].sort((a, b) => a.least - b.least || a.step - b.step);
  return columns.filter(({ most }) => most > 0).sort((a, b) => b.most - a.most || a.step - b.step);
}

/** The column of a step, or the nearest one. */
export function columnAt(columns: readonly StripColumn[], step: number): StripColumn | null {
  return columns.findLast((column) => column.step <= step) ?? columns[0] ?? null;
}

/** The step of a full-resolution series that a column was drawn for. */
export function oddStep(steps: readonly number[], values: readonly number[], pick: Pick): number | null {
  let best: number | null = null;
  values.forEach((value, i) => {
    const than = best === null ? null : (values[best] as number);
    if (than === null || (pick === "most" ? value > than : value < than)) best = i;
  });
  return best === null ? null : (steps[best] ?? null);
}
