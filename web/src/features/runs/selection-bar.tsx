/** What is selected, and what can be done with it. It lies over the page's foot. */
import { useNavigate } from "@tanstack/react-router";
import { Button } from "@/components/button";
import { ButtonLink } from "@/components/button-link";
import { formatCount } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./selection-bar.module.css";

/** More lines than this cannot be told apart. */
const MOST_RUNS = 20;

export function SelectionBar({ ids, onClear }: { ids: readonly string[]; onClear: () => void }) {
  const navigate = useNavigate();
  const runs = ids.slice(0, MOST_RUNS);
  useShortcuts({ c: () => navigate({ to: "/compare", search: { runs } }), Escape: onClear });
  return (
    <section className={styles.bar} aria-label="Selected runs">
      <span role="status">
        {formatCount(ids.length, "run")} selected
        {ids.length > MOST_RUNS && `, the first ${MOST_RUNS} are compared`}
      </span>
      <Button variant="ghost" onClick={onClear}>
        Clear
      </Button>
      <ButtonLink to="/compare" search={{ runs }}>
        Compare
      </ButtonLink>
    </section>
  );
}
