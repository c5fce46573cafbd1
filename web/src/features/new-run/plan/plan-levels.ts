/** A plan's steps in few rows: by size where it has few, otherwise by equal parts of the run. Pure. */
import type { PlannedStep, RunPlan } from "@/api/types";

export interface Ends {
  least: number;
  most: number;
}

export interface PlanLevel {
  first: number;
  last: number;
  size: Ends;
  microBatches: Ends;
  dummies: number;
  overCap: number;
  /** Means over the steps that were scheduled. */
  idle: number;
  bound: number;
}

const MOST_LEVELS = 10;

/** Rows with at least one scheduled step; the figures are those of its scheduled steps. */
export function planLevels(steps: readonly PlannedStep[]): PlanLevel[] {
  const runs = bySize(steps);
  const parts = runs.length <= MOST_LEVELS ? runs : inParts(steps);
  return parts.flatMap((part) => levelOf(part) ?? []);
}

function bySize(steps: readonly PlannedStep[]): PlannedStep[][] {
  const runs: PlannedStep[][] = [];
  for (const step of steps) {
    const run = runs.at(-1);
    if (run && run[0]?.global_batch_size === step.global_batch_size) run.push(step);
    else if (runs.length > MOST_LEVELS) break;
    else runs.push([step]);
  }
  return runs;
}

function inParts(steps: readonly PlannedStep[]): PlannedStep[][] {
  const length = Math.ceil(steps.length / MOST_LEVELS);
  return Array.from({ length: MOST_LEVELS }, (_, i) => steps.slice(i * length, (i + 1) * length));
}

function levelOf(steps: readonly PlannedStep[]): PlanLevel | null {
  const cut = steps.flatMap(({ geometry }) => geometry ?? []);
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || !last || cut.length === 0) return null;
  return {
    first: first.step,
    last: last.step,
    size: endsOf(steps.map((step) => step.global_batch_size)),
    microBatches: endsOf(cut.map(({ num_microbatches }) => num_microbatches)),
    dummies: Math.max(...cut.map(({ num_dummies }) => num_dummies)),
    overCap: Math.max(...cut.map(({ num_over_cap }) => num_over_cap)),
    idle: mean(cut.map(({ predicted_idle_frac }) => predicted_idle_frac)),
    bound: mean(cut.map(({ idle_bound_frac }) => idle_bound_frac)),
  };
}

/** Least and most, without spreading a long list over arguments. */
export function endsOf(values: readonly number[]): Ends {
  return values.reduce(
    (ends, value) => ({ least: Math.min(ends.least, value), most: Math.max(ends.most, value) }),
    {
      least: Number.POSITIVE_INFINITY,
      most: Number.NEGATIVE_INFINITY,
    },
  );
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}

/** The scheduled step nearest to a step: what is told for it. */
export function scheduledNear(plan: RunPlan, step: number): PlannedStep | null {
  return plan.steps.reduce<PlannedStep | null>(
    (best, one) =>
      one.geometry !== null && (best === null || Math.abs(one.step - step) < Math.abs(best.step - step))
        ? one
        : best,
    null,
  );
}
