/** All that can be asked of a run, behind one button. */
import type { RunSummary } from "@/api/types";
import { Menu } from "../menu";
import { actionsOf } from "./run-actions";
import { useRunActions } from "./use-run-actions";

export function RunMenu({ run, onDeleted }: { run: RunSummary; onDeleted?: () => void }) {
  const { act, dialog } = useRunActions(run, onDeleted);
  const items = actionsOf(run).map((action) => ({
    label: action.label,
    isDanger: action.wish === "delete",
    act: () => act(action),
  }));
  return (
    <>
      <Menu label={`Actions for ${run.name}`} items={items} />
      {dialog}
    </>
  );
}
