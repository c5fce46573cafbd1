/** Deletes runs and offers to take that back for as long as the toast is there: no question beforehand. */
import { problemSentence } from "@/api/problem";
import { useDeleteRuns, useRestoreRuns } from "@/api/run-actions";
import { announce } from "@/lib/announcements";
import { formatInteger } from "@/lib/numbers";

/** Calls `onDeleted` as the request leaves: a page of the run must not ask for what is gone. */
export function useDeleteWithUndo(onDeleted: () => void): (runIds: readonly string[]) => void {
  const remove = useDeleteRuns();
  const restore = useRestoreRuns();
  const undo = (runIds: readonly string[]) =>
    // Not with callbacks of this call: by then the page that deleted may be gone.
    restore.mutateAsync(runIds).then(
      () => announce(runIds.length === 1 ? "Run restored" : `${formatInteger(runIds.length)} runs restored`),
      (error: unknown) => announce(problemSentence(error)),
    );
  return (runIds) => {
    onDeleted();
    remove.mutateAsync(runIds).then(
      (deleted) => {
        const text = deleted.length === 1 ? "Run deleted" : `${formatInteger(deleted.length)} runs deleted`;
        announce(text, { label: "Undo", act: () => void undo(deleted) });
      },
      (error: unknown) => announce(problemSentence(error)),
    );
  };
}
