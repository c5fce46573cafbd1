/** What is selected, and what can be done with it. It lies over the page's foot. */
import { useNavigate } from "@tanstack/react-router";
import { problemSentence } from "@/api/problem";
import { useRunWish } from "@/api/run-actions";
import { Button } from "@/components/button";
import { ButtonLink } from "@/components/button-link";
import { useDeleteWithUndo } from "@/components/run-actions/use-delete-runs";
import { announce } from "@/lib/announcements";
import { formatCount } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./selection-bar.module.css";

/** More lines than this cannot be told apart. */
const MOST_RUNS = 20;

export interface SelectionBarProps {
  ids: readonly string[];
  /** Only what has ended can be archived and deleted. */
  allAreOver: boolean;
  onClear: () => void;
}

export function SelectionBar({ ids, allAreOver, onClear }: SelectionBarProps) {
  const navigate = useNavigate();
  const archive = useRunWish();
  const deleteWithUndo = useDeleteWithUndo(onClear);
  const onArchive = async () => {
    try {
      for (const runId of ids)
        await archive.mutateAsync({ runId, wish: { kind: "archive", isArchived: true } });
      onClear();
    } catch (error) {
      announce(problemSentence(error));
    }
  };
  const whyNot = allAreOver ? undefined : "Only runs that have ended can be archived or deleted";
  const runs = ids.slice(0, MOST_RUNS);
  useShortcuts({ c: () => navigate({ to: "/compare", search: { runs } }), Escape: onClear });
  return (
    <section className={styles.bar} aria-label="Selected runs">
      <span role="status">
        {formatCount(ids.length, "run")}
        <span className={styles.word}> selected</span>
        {ids.length > MOST_RUNS && `, the first ${MOST_RUNS} are compared`}
      </span>
      <ButtonLink to="/compare" search={{ runs }} variant="primary">
        Compare
      </ButtonLink>
      <Button title={whyNot} disabled={!allAreOver || archive.isPending} onClick={onArchive}>
        Archive
      </Button>
      <Button title={whyNot} disabled={!allAreOver} onClick={() => deleteWithUndo(ids)}>
        Delete
      </Button>
      <Button variant="ghost" onClick={onClear}>
        Clear
      </Button>
    </section>
  );
}
