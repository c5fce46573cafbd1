/** The three panes before anything is known of them: as wide and as high as what comes. */
import { useQuery } from "@tanstack/react-query";
import { runOptions } from "@/api/runs";
import { LoadingBars } from "@/components/loading-bars";
import { GROUP_ROW_PX } from "./group-list";
import pane from "./pane.module.css";
import styles from "./rollouts.module.css";

/** The prompt in a line and its facts in two. */
const PROMPT_PX = 90;
const ROLLOUT_ROW_PX = 36;
/** Reward against length. */
const SCATTER_PX = 174;
const TEXT_ROWS = 10;
const MOST_ROWS = 20;

export function LoadingPanes({ runId, onRetry }: { runId: string; onRetry: () => void }) {
  const { data: run } = useQuery(runOptions(runId));
  const numGroups = run?.spec?.recording.groups_per_iteration ?? MOST_ROWS;
  const numRollouts = run?.spec?.rollout.group_size ?? MOST_ROWS;
  return (
    <div className={styles.panes} aria-busy="true">
      <section className={pane.pane} aria-label="Groups">
        <Head title="Groups" />
        <div className={styles.cut}>
          <LoadingBars rows={Math.min(MOST_ROWS, numGroups)} rowHeight={GROUP_ROW_PX} onRetry={onRetry} />
        </div>
      </section>
      <section className={pane.pane} aria-label="Group">
        <Head title="Group" />
        <div className={styles.cut}>
          <Bars rows={1} rowHeight={PROMPT_PX} />
          <Bars rows={1 + Math.min(MOST_ROWS, numRollouts)} rowHeight={ROLLOUT_ROW_PX} />
          <Bars rows={1} rowHeight={SCATTER_PX} />
        </div>
      </section>
      <section className={pane.pane} aria-label="Rollout">
        <Head title="Rollout" />
        <div className={styles.cut}>
          <Bars rows={TEXT_ROWS} rowHeight={40} />
        </div>
      </section>
    </div>
  );
}

function Head({ title }: { title: string }) {
  return (
    <div className={pane.head}>
      <h2>{title}</h2>
    </div>
  );
}

/** The first pane speaks for all. */
function Bars(props: { rows: number; rowHeight: number }) {
  return <LoadingBars {...props} hasWords={false} />;
}
