/** Asks before a run is stopped; the safe answer has the focus. */
import { problemSentence } from "@/api/problem";
import { useRunWish } from "@/api/run-actions";
import type { CancelMode, RunSummary } from "@/api/types";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { formatElapsed } from "@/lib/durations";
import { formatInteger } from "@/lib/numbers";
import styles from "./stop-dialog.module.css";

export function StopDialog({ run, onClose }: { run: RunSummary; onClose: () => void }) {
  const cancel = useRunWish();
  const question = questionOf(run);
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
              cancel.mutate(
                { runId: run.id, wish: { kind: "cancel", mode: question.mode } },
                { onSuccess: onClose },
              )
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

/** What stopping means for a run in its present state. */
export function questionOf(run: RunSummary): Question {
  if (run.state === "queued") {
    return {
      title: `Cancel ${run.name}?`,
      text: "It has not started. Nothing of it is recorded.",
      keep: "Keep it queued",
      act: "Cancel the run",
      mode: "graceful",
    };
  }
  if (run.state === "stopping") {
    return {
      title: `Kill ${run.name}?`,
      text: `Step ${formatInteger(run.num_steps)} is lost. The steps before it keep their records.`,
      keep: "Let it end",
      act: "Kill now",
      mode: "kill",
    };
  }
  if (run.state === "lost" || run.state === "starting") {
    return {
      title: `Stop ${run.name}?`,
      text: "Its job is ended. What it has recorded is kept.",
      keep: run.state === "lost" ? "Wait for it" : "Let it start",
      act: "Stop the run",
      mode: "graceful",
    };
  }
  if (run.state === "paused") {
    return {
      title: `Stop ${run.name}?`,
      text: "It waits between two steps and ends at once. All its records are kept.",
      keep: "Keep it paused",
      act: "Stop the run",
      mode: "graceful",
    };
  }
  return {
    title: `Stop ${run.name}?`,
    text: `Step ${formatInteger(run.num_steps)} is finished${about(run)}. All its records are kept.`,
    keep: "Keep running",
    act: "Stop after this step",
    mode: "graceful",
  };
}

function about(run: RunSummary): string {
  return run.last ? `, about ${formatElapsed(Math.max(1, run.last.step_s))}` : "";
}
