/** The words of the API under short names. The shapes are generated from its OpenAPI document; none is written here. */
import type { components } from "./schema.gen";

type Schemas = components["schemas"];

export type RunState = Schemas["RunState"];
export type RunSummary = Schemas["RunSummary"];
export type Run = Schemas["Run"];
export type RunSortKey = Schemas["SortKey"];
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
export type StepRow = Schemas["StepRow"];
export type StepPage = Schemas["StepPage"];
export type StepsFrame = Schemas["StepsFrame"];
export type StepSchedule = Schemas["StepScheduleOut"];
export type Schedule = Schemas["ScheduleMessage"];
export type SampleColumns = Schemas["SampleColumns"];
export type RunEvent = Schemas["RunEventOut"];
export type BatchDecision = Schemas["BatchDecision"];
export type Geometry = Schemas["Geometry"];
export type WhatIf = Schemas["WhatIf"];
export type WhatIfRequest = Schemas["WhatIfRequest"];
export type RunPlan = Schemas["RunPlan"];
export type PlannedStep = Schemas["PlannedStep"];
export type Lengths = NonNullable<Schemas["PlanRequest"]["lengths"]>;
export type Certificate = Schemas["CertificateOut"];
export type IterationBooks = Schemas["IterationBooks"];
export type RecordedPart = Schemas["RecordedPart"];
export type RolloutFate = Schemas["RolloutFate"];
export type RolloutHead = Schemas["RolloutHead"];
export type RolloutGroup = Schemas["RolloutGroup"];
export type RolloutDetail = Schemas["RolloutDetail"];
export type LogLine = Schemas["LogLineOut"];
export type LogPage = Schemas["LogPage"];
export type LogLevel = Schemas["LogLevel"];
export type StepTimeline = Schemas["StepTimeline"];
export type Activity = Schemas["Activity"];
export type Advisory = Schemas["Advisory"];
export type Checkpoint = Schemas["CheckpointOut"];
export type RecordKind = Schemas["RecordKind"];
export type Ledger = Schemas["Ledger"];
export type LedgerEntry = Schemas["LedgerEntry"];
export type SystemHistory = Schemas["SystemHistory"];
export type SystemSeries = Schemas["SystemSeries"];

/** States that a run never leaves. */
export function isOver(state: RunState): boolean {
  return state === "succeeded" || state === "failed" || state === "cancelled";
}
