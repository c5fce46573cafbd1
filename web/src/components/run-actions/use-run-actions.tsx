/** Carries out what was chosen for a run: at once, or after a question. Rows and heads share it. */
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { problemSentence } from "@/api/problem";
import { type RunWish, useRunWish } from "@/api/run-actions";
import { isOver, type RunSummary } from "@/api/types";
import { announce } from "@/lib/announcements";
import { RetryDialog } from "./retry-dialog";
import type { RunAction } from "./run-actions";
import { StopDialog } from "./stop-dialog";
import { useDeleteWithUndo } from "./use-delete-runs";

export interface RunActions {
  act: (action: RunAction) => void;
  isPending: boolean;
  /** The question that is open, if one is. */
  dialog: ReactNode;
}

/** `onDeleted`: where to go from a page of a run that is no more. */
export function useRunActions(run: RunSummary, onDeleted: () => void = () => {}): RunActions {
  const navigate = useNavigate();
  const deleteWithUndo = useDeleteWithUndo(onDeleted);
  const asked = useRunWish();
  const [question, setQuestion] = useState<"stop" | "retry" | null>(null);
  const close = () => setQuestion(null);
  const wish = (one: RunWish) =>
    asked.mutate({ runId: run.id, wish: one }, { onError: (error) => announce(problemSentence(error)) });
  return {
    act: (action) => {
      if (typeof action.wish === "object") wish(action.wish);
      else if (action.wish === "stop" || action.wish === "retry") setQuestion(action.wish);
      else if (action.wish === "delete") deleteWithUndo([run.id]);
      else if (action.wish === "clone") void navigate({ to: "/new", search: { from: run.id } });
    },
    isPending: asked.isPending,
    dialog:
      question === "stop" && !isOver(run.state) ? (
        <StopDialog run={run} onClose={close} />
      ) : question === "retry" && isOver(run.state) ? (
        <RetryDialog run={run} onClose={close} />
      ) : null,
  };
}
