/** One row per checkpoint: when and where it was written, whether it is still there, and what can be done with it. */

import { newestKept } from "@/api/checkpoints";
import { problemSentence } from "@/api/problem";
import { useRunWish } from "@/api/run-actions";
import type { Checkpoint, Run } from "@/api/types";
import { Button } from "@/components/button";
import { DataTable, NumberCell, RowHead } from "@/components/data-table";
import { Moment } from "@/components/moment";
import { ScrollRegion } from "@/components/scroll-region";
import { announce } from "@/lib/announcements";
import { formatBytes } from "@/lib/bytes";
import { copyText } from "@/lib/copy-text";
import { formatDuration } from "@/lib/durations";
import { formatInteger } from "@/lib/numbers";
import styles from "./checkpoints.module.css";
import { exportCommand } from "./export-command";

const COLUMNS = [
  { label: "Before step" },
  { label: "Iteration", isNumber: true },
  { label: "Attempt", isNumber: true },
  { label: "Written" },
  { label: "Took", isNumber: true },
  { label: "Size", isNumber: true },
  { label: "State" },
  { label: "Directory" },
  { label: <span className="sr-only">Actions</span> },
];

export function CheckpointTable({ run, checkpoints }: { run: Run; checkpoints: readonly Checkpoint[] }) {
  // An external run goes on where its own framework says, one that waits already where it was told to.
  const resume =
    run.kind === "managed" && run.state !== "succeeded" && run.state !== "queued"
      ? newestKept(checkpoints)
      : null;
  return (
    <ScrollRegion label="Checkpoints, table">
      <DataTable columns={COLUMNS} className={styles.table}>
        <tbody>
          {checkpoints.map((one) => (
            <Row key={`${one.attempt} ${one.step}`} run={run} checkpoint={one} isNext={one === resume} />
          ))}
        </tbody>
      </DataTable>
    </ScrollRegion>
  );
}

interface RowProps {
  run: Run;
  checkpoint: Checkpoint;
  /** Whether the next attempt goes on from it, unless it is told another. */
  isNext: boolean;
}

function Row({ run, checkpoint, isNext }: RowProps) {
  return (
    <tr data-removed={checkpoint.removed || undefined}>
      <RowHead data-label="Before step">{formatInteger(checkpoint.step)}</RowHead>
      <NumberCell data-label="iteration">
        {checkpoint.phase === "warm_start" ? "warm start " : ""}
        {formatInteger(checkpoint.iteration)}
      </NumberCell>
      <NumberCell data-label="attempt">{formatInteger(checkpoint.attempt)}</NumberCell>
      <td className={styles.time}>
        <Moment at={checkpoint.at} />
      </td>
      <NumberCell data-label="took">{formatDuration(checkpoint.write_s)}</NumberCell>
      <NumberCell>{formatBytes(checkpoint.num_bytes)}</NumberCell>
      <td>
        {standing(checkpoint)}
        {isNext && <b className={styles.resume}>a retry goes on here</b>}
      </td>
      <td className={styles.directory}>
        <bdi>{checkpoint.directory}</bdi>
      </td>
      <td className={styles.actions}>
        {!checkpoint.removed && <Actions run={run} checkpoint={checkpoint} />}
      </td>
    </tr>
  );
}

function standing({ removed, superseded }: Checkpoint): string {
  if (removed) return "removed";
  return superseded ? "kept, superseded" : "kept";
}

function Actions({ run, checkpoint }: { run: Run; checkpoint: Checkpoint }) {
  const wish = useRunWish();
  const { step } = checkpoint;
  const canRetry = run.kind === "managed" && (run.state === "failed" || run.state === "cancelled");
  const retry = () =>
    wish.mutate(
      { runId: run.id, wish: { kind: "retry", fromStep: step } },
      { onError: (error) => announce(problemSentence(error)) },
    );
  return (
    <span className={styles.buttons}>
      <Button icon="copy" onClick={() => void copyText(exportCommand(run.id, step), "Command")}>
        Copy export command
      </Button>
      {canRetry && (
        <Button disabled={wish.isPending} onClick={retry}>
          Retry from {formatInteger(step)}
        </Button>
      )}
    </span>
  );
}
