/** What can be asked of a run in its present state, in the words of its buttons. Pure. */
import type { RunWish } from "@/api/run-actions";
import { isOver, type RunSummary } from "@/api/types";

/** Words ask or tell first; the others are done at once. */
export type RunAction =
  | { label: string; wish: RunWish }
  | { label: string; wish: "stop" | "retry" | "delete" | "clone" };

export function actionsOf(run: RunSummary): RunAction[] {
  // Of a run that another framework runs there is nothing to pause, to begin again or to submit.
  const clone: RunAction[] = run.kind === "managed" ? [{ label: "Clone run", wish: "clone" }] : [];
  return [...whileItLives(run), ...onceItIsOver(run), ...clone, ...removal(run)];
}

function whileItLives({ state, kind }: RunSummary): RunAction[] {
  if (isOver(state)) return [];
  const waits: RunAction[] =
    kind === "external"
      ? []
      : state === "running"
        ? [{ label: "Pause run", wish: { kind: "pause" } }]
        : state === "pausing" || state === "paused"
          ? [{ label: "Resume run", wish: { kind: "resume" } }]
          : [];
  return [...waits, { label: stopLabel(state), wish: "stop" }];
}

function stopLabel(state: RunSummary["state"]): string {
  if (state === "queued") return "Cancel run";
  return state === "stopping" ? "Kill run" : "Stop run";
}

function onceItIsOver({ state, kind, archived_at }: RunSummary): RunAction[] {
  if (!isOver(state)) return [];
  const isArchived = archived_at !== null;
  return [
    ...(state === "succeeded" || kind === "external" ? [] : [{ label: "Retry run", wish: "retry" as const }]),
    {
      label: isArchived ? "Take back from archive" : "Archive run",
      wish: { kind: "archive", isArchived: !isArchived },
    },
  ];
}

function removal({ state }: RunSummary): RunAction[] {
  return isOver(state) ? [{ label: "Delete run", wish: "delete" }] : [];
}
