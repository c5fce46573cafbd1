/** What can be asked of a run in its present state, in the words of its buttons. Pure. */
import type { RunWish } from "@/api/run-actions";
import { isOver, type RunSummary } from "@/api/types";

/** `stop` and `delete` ask or tell first; the others are done at once. */
export type RunAction =
  | { label: string; wish: RunWish }
  | { label: string; wish: "stop" | "delete" | "clone" };

export function actionsOf(run: RunSummary): RunAction[] {
  return [...whileItLives(run), ...onceItIsOver(run), { label: "Clone run", wish: "clone" }, ...removal(run)];
}

function whileItLives({ state }: RunSummary): RunAction[] {
  if (isOver(state)) return [];
  const waits: RunAction[] =
    state === "running"
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

function onceItIsOver({ state, archived_at }: RunSummary): RunAction[] {
  if (!isOver(state)) return [];
  const isArchived = archived_at !== null;
  return [
    ...(state === "succeeded" ? [] : [{ label: "Retry run", wish: { kind: "retry" } as const }]),
    {
      label: isArchived ? "Take back from archive" : "Archive run",
      wish: { kind: "archive", isArchived: !isArchived },
    },
  ];
}

function removal({ state }: RunSummary): RunAction[] {
  return isOver(state) ? [{ label: "Delete run", wish: "delete" }] : [];
}
