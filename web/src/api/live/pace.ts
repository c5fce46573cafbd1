/** Seconds that a step of each run takes, smoothed, for the time that is left. */
import type { RunSummary } from "../types";

/** Share of the newest step: the estimate follows a change within a few steps and does not jump with each. */
const NEWEST = 0.15;

interface Pace {
  step: number;
  stepS: number;
}

const paces = new Map<string, Pace>();

/** Takes in the newest step of a run that the stream told of. */
export function notePace(run: RunSummary): void {
  if (!run.last) return;
  const old = paces.get(run.id);
  if (old?.step === run.last.step) return;
  const stepS = old ? old.stepS + NEWEST * (run.last.step_s - old.stepS) : run.last.step_s;
  paces.set(run.id, { step: run.last.step, stepS });
}

/** Seconds until the run's last step ends; null where nobody can know. */
export function secondsLeft(run: RunSummary): number | null {
  if (run.total_steps === null || !run.last || run.state !== "running") return null;
  const stepS = paces.get(run.id)?.stepS ?? run.last.step_s;
  return Math.max(0, run.total_steps - run.num_steps) * stepS;
}
