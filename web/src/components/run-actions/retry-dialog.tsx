/** Asks before a run goes on, and tells from where: what lies after its newest checkpoint is trained again. */
import { useResumeStep } from "@/api/checkpoints";
import { problemSentence } from "@/api/problem";
import { useRunWish } from "@/api/run-actions";
import type { RunSummary } from "@/api/types";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { formatCount, formatInteger } from "@/lib/numbers";
import styles from "./stop-dialog.module.css";

export function RetryDialog({ run, onClose }: { run: RunSummary; onClose: () => void }) {
  const retry = useRunWish();
  const from = useResumeStep(run.id);
  return (
    <Dialog
      title={`Retry ${run.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Not now</Button>
          <Button
            variant="primary"
            disabled={retry.isPending}
            onClick={() => retry.mutate({ runId: run.id, wish: { kind: "retry" } }, { onSuccess: onClose })}
          >
            {retryLabel(from)}
          </Button>
        </>
      }
    >
      <p>{retryText(run, from)}</p>
      {retry.error && (
        <p className={styles.problem} role="alert" dir="auto">
          {problemSentence(retry.error)}
        </p>
      )}
    </Dialog>
  );
}

/** from: the step of the newest checkpoint; null: there is none; undefined: not known yet. */
export function retryLabel(from: number | null | undefined): string {
  return from === undefined ? "Retry" : `Retry from ${formatInteger(from ?? 0)}`;
}

export function retryText({ attempt, num_steps }: RunSummary, from: number | null | undefined): string {
  const next = `Attempt ${formatInteger(attempt + 1)}`;
  if (from === undefined) return `${next} goes on from its newest checkpoint.`;
  if (from === null) return `${next} begins at step 0: no checkpoint is kept.`;
  const again = Math.max(0, num_steps - from);
  const place = `${next} goes on from the checkpoint before step ${formatInteger(from)}`;
  return again === 0
    ? `${place}.`
    : `${place}; ${formatCount(again, "step")} after it ${again === 1 ? "is" : "are"} trained again.`;
}
