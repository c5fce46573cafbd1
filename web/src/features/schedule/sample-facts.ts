/** What the card says of one sample. Pure. */
import type { Schedule, StepRow } from "@/api/types";
import { formatDuration } from "@/lib/durations";
import { formatCount, formatDelta, formatInteger, formatMetric, formatPercent, MISSING } from "@/lib/numbers";
import { durations, type GridGeometry, type Place, secondsPerCost } from "./grid-geometry";
import { type PaddedStep, paddingAt, paddingShare } from "./padding";
import { capTimes } from "./step-sentences";

export interface Fact {
  label: string;
  value: string;
  note?: string;
  /** The value is a name from outside: it is isolated and may be cut. */
  isForeign?: boolean;
}

export interface SampleFacts {
  title: string;
  place: string;
  facts: Fact[];
}

/** What of a step the card needs, beside its schedule. */
export type ReadStep = Pick<StepRow, "policy_version"> & PaddedStep;

export function sampleFacts(
  schedule: Schedule,
  geometry: GridGeometry,
  sample: number,
  step: ReadStep,
): SampleFacts | null {
  const place = geometry.places[sample];
  if (!place) return null;
  const { samples } = schedule;
  const tokens = samples.num_tokens[sample] ?? 0;
  const group = samples.group_id[sample] ?? "";
  return {
    title: `Sample ${formatInteger(sample)}`,
    place: `rank ${place.rank}, micro-batch ${place.cell}`,
    facts: [
      { label: "Tokens", value: formatInteger(tokens), note: capTimes(tokens, schedule.token_cap) },
      { label: "Loss tokens", value: formatInteger(samples.num_loss_tokens[sample] ?? 0) },
      ...paddingFact(schedule, place, step),
      timeFact(schedule, geometry, sample),
      {
        label: "Group",
        value: group,
        note: formatCount(rolloutsOf(schedule, group), "rollout"),
        isForeign: true,
      },
      ...siblingFact(schedule, sample),
      rewardFact(schedule, sample),
      { label: "Weight", value: samples.weight[sample] ?? MISSING },
      versionFact(samples.policy_version[sample], step.policy_version ?? 0),
      ...carriedFact(samples.age[sample] ?? 0),
    ],
  };
}

function rolloutsOf(schedule: Schedule, group: string): number {
  const { group_id, rollout_id } = schedule.samples;
  return new Set(rollout_id.filter((_, i) => group_id[i] === group)).size;
}

/** Padding is the micro-batch's: it stands behind its samples. */
function paddingFact(schedule: Schedule, place: Place, step: PaddedStep): Fact[] {
  const here = paddingAt(schedule, place, step);
  if (!here || here.positions === 0) return [];
  if (here.padding === 0) return [{ label: "Padding", value: "none", note: "in its micro-batch" }];
  const value = `${formatInteger(here.padding)} of ${formatInteger(here.positions)}`;
  return [{ label: "Padding, micro-batch", value, note: formatPercent(paddingShare(here)) }];
}

/** Only micro-batches are timed: a sample's time is its share by cost. */
function timeFact(schedule: Schedule, geometry: GridGeometry, sample: number): Fact {
  const place = geometry.places[sample];
  const piece = place && geometry.ranks[place.rank]?.cells[place.cell]?.pieces[place.piece];
  const seconds = place ? (durations(schedule, "measured")[place.rank]?.[place.cell] ?? 0) : 0;
  const share = piece?.width ?? 1;
  const predicted = formatDuration((schedule.sample_cost[sample] ?? 0) * secondsPerCost(schedule));
  return {
    label: share < 1 ? "Measured, its share" : "Measured",
    value: formatDuration(seconds * share),
    note: `predicted ${predicted}`,
  };
}

/** A rollout of several samples names them; of one sample there is nothing to say. */
function siblingFact(schedule: Schedule, sample: number): Fact[] {
  const { rollout_id } = schedule.samples;
  const count = rollout_id.filter((rollout) => rollout === rollout_id[sample]).length;
  return count > 1 ? [{ label: "Rollout", value: `${formatInteger(count)} samples` }] : [];
}

function rewardFact(schedule: Schedule, sample: number): Fact {
  const reward = schedule.samples.reward[sample] ?? null;
  const advantage = schedule.samples.advantage[sample] ?? null;
  return {
    label: "Reward",
    value: formatMetric("reward", reward),
    ...(advantage !== null && { note: `advantage ${formatDelta("reward", advantage)}` }),
  };
}

/** A sample that came fresh has nothing to say here. */
function carriedFact(iterations: number): Fact[] {
  return iterations > 0 ? [{ label: "Carried over", value: formatCount(iterations, "iteration") }] : [];
}

function versionFact(version: number | undefined, policyVersion: number): Fact {
  if (version === undefined) return { label: "Policy version", value: MISSING };
  return {
    label: "Policy version",
    value: formatInteger(version),
    note: `age ${formatInteger(policyVersion - version)}`,
  };
}
