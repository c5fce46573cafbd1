/** The words of the API under short names. The shapes are generated from its OpenAPI document; none is written here. */
import type { components } from "./schema.gen";

type Schemas = components["schemas"];

export type RunState = Schemas["RunState"];
export type RunSummary = Schemas["RunSummary"];
export type Run = Schemas["Run"];
export type RunSpec = Run["spec"];
export type LastStep = Schemas["LastStep"];
export type RunList = Schemas["RunPage"];
export type CancelMode = NonNullable<Schemas["CancelRequest"]["mode"]>;
export type XAxis = Schemas["XAxis"];
export type Aggregation = Schemas["Aggregation"];
export type MetricInfo = Schemas["MetricInfo"];
export type MetricCatalogue = Schemas["MetricCatalogue"];
export type MetricHistory = Schemas["MetricHistory"];
export type Series = Schemas["Series"];
export type NonFinitePoint = Schemas["NonFinitePoint"];
export type StepSchedule = Schemas["StepScheduleOut"];
export type Schedule = Schemas["ScheduleMessage"];
export type SampleColumns = Schemas["SampleColumns"];
export type Certificate = Schemas["CertificateOut"];

/** Steps that were just recorded, in columns of equal length. The stream's own: OpenAPI does not describe it. */
export interface StepsFrame {
  run: string;
  attempt: number;
  step: number[];
  samples: number[];
  tokens: number[];
  /** End of the step, seconds since 1970-01-01 UTC. */
  time: number[];
  /** Seconds since the start of the run's first step. */
  relative: number[];
  /** By name, the counts included; null: not measured at that step. */
  metrics: Record<string, (number | "NaN" | "Infinity" | "-Infinity" | null)[]>;
}

/** States that a run never leaves. */
export function isOver(state: RunState): boolean {
  return state === "succeeded" || state === "failed" || state === "cancelled";
}
