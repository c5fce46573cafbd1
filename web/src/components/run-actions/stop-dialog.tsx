/** Asks before a run is stopped; the safe answer has the focus. */
import { useEffect, useState } from "react";
import { useResumeStep } from "@/api/checkpoints";
import { problemSentence } from "@/api/problem";
import { useRunWish } from "@/api/run-actions";
import type { CancelMode, RunSummary } from "@/api/types";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { formatElapsed } from "@/lib/durations";
import { formatCount, formatInteger } from "@/lib/numbers";
import styles from "./stop-dialog.module.css";

export function StopDialog({ run, onClose }: { run: RunSummary; onClose: () => void }) {
  const cancel = useRunWish();
  const question = questionOf(run, useResumeStep(run.id));
  const { mode } = question;
  const [asked] = useState(mode);
  // It has been stopped meanwhile: the same button would kill it.
  useEffect(() => {
    if (mode !== asked) onClose();
  }, [mode, asked, onClose]);
  return (
    <Dialog
      title={question.title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{question.keep}</Button>
          <Button
            variant="primary"
            disabled={cancel.isPending}
            onClick={() =>
              cancel.mutate({ runId: run.id, wish: { kind: "cancel", mode: asked } }, { onSuccess: onClose })
            }
          >
            {question.act}
          </Button>
        </>
      }
    >
      <p>{question.text}</p>
      {cancel.error && (
        <p className={styles.problem} role="alert" dir="auto">
          {problemSentence(cancel.error)}
        </p>
      )}
    </Dialog>
  );
}

interface Question {
  title: string;
  text: string;
  keep: string;
  act: string;
  mode: CancelMode;
}

/** What stopping means for a run in its present state. resumeStep: where a retry would go on; undefined: not known. */
export function questionOf(run: RunSummary, resumeStep?: number | null): Question {
  if (run.state === "queued") {
    return {
      title: `Cancel ${run.name}?`,
      text: notStarted(run),
      keep: "Keep it queued",
      act: "Cancel the run",
      mode: "graceful",
    };
  }
  if (run.state === "stopping") {
    return {
      title: `Kill ${run.name}?`,
      text: `Step ${formatInteger(run.num_steps)} is lost. The steps before it keep their records.${again(run, run.num_steps, resumeStep)}`,
      keep: "Let it end",
      act: "Kill now",
      mode: "kill",
    };
  }
  if (run.state === "lost" || run.state === "starting") {
    return {
      title: `Stop ${run.name}?`,
      text: `Its job is ended. What it has recorded is kept.${again(run, run.num_steps, resumeStep)}`,
      keep: run.state === "lost" ? "Wait for it" : "Let it start",
      act: "Stop the run",
      mode: "graceful",
    };
  }
  if (run.state === "paused") {
    return {
      title: `Stop ${run.name}?`,
      text: `It waits between two steps and ends at once. All its records are kept.${again(run, run.num_steps, resumeStep)}`,
      keep: "Keep it paused",
      act: "Stop the run",
      mode: "graceful",
    };
  }
  return {
    title: `Stop ${run.name}?`,
    text: `Step ${formatInteger(run.num_steps)} is finished${about(run)}. All its records are kept.${again(run, run.num_steps + 1, resumeStep)}`,
    keep: "Keep running",
    act: "Stop after this step",
    mode: "graceful",
  };
}

function about(run: RunSummary): string {
  return run.last && run.last.step_s > 0 ? `, about ${formatElapsed(Math.max(1, run.last.step_s))}` : "";
}

function notStarted({ attempt, num_steps }: RunSummary): string {
  if (attempt === 0) return "It has not started. Nothing of it is recorded.";
  const kept =
    num_steps === 0
      ? "No step is recorded."
      : `${formatCount(num_steps, "step")} ${num_steps === 1 ? "is" : "are"} recorded and kept.`;
  return `Attempt ${formatInteger(attempt + 1)} waits and has not started. ${kept}`;
}

/** What a retry would train a second time, of the steps that there are then. */
function again({ kind }: RunSummary, numSteps: number, resumeStep: number | null | undefined): string {
  if (kind === "external" || resumeStep === undefined || numSteps === 0) return "";
  if (resumeStep === null) return " There is no checkpoint yet: a retry begins at step 0.";
  const steps = Math.max(0, numSteps - resumeStep);
  const from = ` A retry goes on from the checkpoint before step ${formatInteger(resumeStep)}`;
  return steps === 0 ? `${from}.` : `${from} and trains ${formatCount(steps, "step")} again.`;
}
