/** In a few words: how long a run still takes, or why it stands. */
import { secondsLeft } from "@/api/live/pace";
import type { RunSummary } from "@/api/types";
import { formatElapsed } from "@/lib/durations";
import { formatInteger } from "@/lib/numbers";
import { capitalised, firstLine } from "@/lib/texts";
import { useNow } from "@/lib/use-now";

export function runStanding(run: RunSummary, nowMs: number): string {
  switch (run.state) {
    case "queued":
      // A run that waits for others is told so; without a reason it is the next, and only Ray is not up yet.
      return run.reason ? capitalised(run.reason) : "Next to start: Ray is starting";
    case "starting":
      return capitalised(run.activity ?? "its job starts");
    case "running":
      return whatRunningDoes(run);
    case "pausing":
      return run.num_steps > 0 ? `Pauses after step ${formatInteger(run.num_steps)}` : "Pauses";
    case "paused":
      return run.num_steps > 0 ? `Paused after step ${formatInteger(run.num_steps - 1)}` : "Paused";
    case "stopping":
      return run.num_steps > 0 ? `Ends after step ${formatInteger(run.num_steps)}` : "Ends";
    case "lost":
      return silence(run, nowMs);
    case "failed":
      return run.reason ? begun(firstLine(run.reason)) : "Failed";
    case "cancelled":
      return run.num_steps > 0
        ? `Cancelled at step ${formatInteger(run.num_steps)}`
        : "Cancelled before its first step";
    case "succeeded":
      return "Finished";
  }
}

/** As a sentence begins; a field's name keeps its spelling. */
function begun(text: string): string {
  return /^[a-z]+ /.test(text) ? capitalised(text) : text;
}

function whatRunningDoes(run: RunSummary): string {
  // Its last checkpoint is still being written.
  if (run.total_steps !== null && run.num_steps >= run.total_steps) return "All steps are done";
  const left = secondsLeft(run);
  return left === null ? capitalised(run.activity ?? "") : `${formatElapsed(left)} left`;
}

/** `No heartbeat for 4 min 10 s`. */
export function silence(run: RunSummary, nowMs: number): string {
  if (run.last_heartbeat_at === null) return "No heartbeat yet";
  return `No heartbeat for ${formatElapsed((nowMs - Date.parse(run.last_heartbeat_at)) / 1000)}`;
}

/** The words, kept true while time passes. */
export function RunStanding({ run }: { run: RunSummary }) {
  // Only silence changes by itself; everything else comes with the run.
  const nowMs = useNow(run.state === "lost" ? 1000 : 3_600_000);
  return <bdi>{runStanding(run, nowMs)}</bdi>;
}

/** Seconds from start to end, or until now; null before it began. Of a lost run only the time until its last sign is
 * known: null without one. */
export function runSeconds(run: RunSummary, nowMs: number): number | null {
  const end = run.ended_at ?? (run.state === "lost" ? run.last_heartbeat_at : new Date(nowMs).toISOString());
  if (run.started_at === null || end === null) return null;
  return Math.max(0, (Date.parse(end) - Date.parse(run.started_at)) / 1000);
}

/** Time for which a run has been, or was, under way. */
export function RunDuration({ run }: { run: RunSummary }) {
  const nowMs = useNow(run.ended_at === null && run.state !== "lost" ? 1000 : 3_600_000);
  const seconds = runSeconds(run, nowMs);
  return seconds === null ? <span>–</span> : formatElapsed(seconds);
}
