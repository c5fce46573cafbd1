/** From where a run can go on: its checkpoints, what the next one pushes out, and how to take one away as a model. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { checkpointsOptions } from "@/api/checkpoints";
import { problemSentence } from "@/api/problem";
import { runOptions } from "@/api/runs";
import { type Checkpoint, isOver, type Run } from "@/api/types";
import { Button, Toggle } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import { LoadingBars } from "@/components/loading-bars";
import { Panel } from "@/components/panel";
import { ProblemPanel } from "@/components/problem-panel";
import { formatCount, formatInteger } from "@/lib/numbers";
import { CheckpointTable } from "./checkpoint-table";
import styles from "./checkpoints.module.css";
import type { CheckpointsSearch } from "./checkpoints-search";
import { nextRemovals } from "./next-removal";

const RETRY_S = 5;
const LOADING_ROWS = 6;

export interface CheckpointsPageProps {
  runId: string;
  search: CheckpointsSearch;
  setSearch: (search: CheckpointsSearch) => void;
}

export function CheckpointsPage({ runId, search, setSearch }: CheckpointsPageProps) {
  const { data: run } = useQuery(runOptions(runId));
  const query = useInfiniteQuery(checkpointsOptions(runId));
  const all = query.data?.pages.flatMap(({ items }) => items) ?? [];
  const shown = search.removed ? all : all.filter(({ removed }) => !removed);
  return (
    <Panel
      title="Checkpoints"
      note={query.data && all.length > 0 && noteOf(all, query.hasNextPage)}
      aside={
        (search.removed || all.some(({ removed }) => removed)) && (
          <Toggle
            isOn={search.removed === true}
            onClick={() => setSearch(search.removed ? {} : { removed: true })}
          >
            With removed
          </Toggle>
        )
      }
    >
      {!query.data && !query.error && <LoadingBars rows={LOADING_ROWS} hasHead onRetry={query.refetch} />}
      {!query.data && query.error && (
        <ProblemPanel
          title="The checkpoints did not load"
          detail={problemSentence(query.error)}
          onRetry={query.refetch}
          retryAfterS={RETRY_S}
        />
      )}
      {run && query.data && shown.length > 0 && (
        <>
          <CheckpointTable run={run} checkpoints={shown} />
          <Removals run={run} checkpoints={all} />
        </>
      )}
      {run && query.data && shown.length === 0 && <None run={run} numRemoved={all.length} />}
      {query.hasNextPage && (
        <div className={styles.more}>
          <Button disabled={query.isFetching} onClick={() => query.fetchNextPage()}>
            Show earlier ones
          </Button>
        </div>
      )}
    </Panel>
  );
}

function noteOf(all: readonly Checkpoint[], hasMore: boolean): string {
  const kept = all.filter(({ removed }) => !removed).length;
  const removed = all.length - kept;
  return `${formatInteger(kept)} kept, ${formatInteger(removed)} removed${hasMore ? ", and earlier ones" : ""}`;
}

/** What the keeping rule does next, in a sentence. */
function Removals({ run, checkpoints }: { run: Run; checkpoints: readonly Checkpoint[] }) {
  const rule = run.spec?.checkpoint;
  if (!rule || isOver(run.state)) return null;
  const [steps, keepLast] = [
    nextRemovals(checkpoints, { ...rule, keep_last: rule.keep_last ?? 2 }),
    rule.keep_last,
  ];
  const what =
    steps.length === 0
      ? "The next checkpoint removes none."
      : `The next checkpoint removes the ${steps.length === 1 ? "one" : "ones"} before ${steps
          .map((step) => `step ${formatInteger(step)}`)
          .join(", ")}.`;
  return (
    <p className={styles.next}>
      {what} The newest {formatInteger(keepLast ?? 2)} stay
      {rule.keep_every ? `, and those of every ${formatInteger(rule.keep_every)}th step` : ""}.
    </p>
  );
}

function None({ run, numRemoved }: { run: Run; numRemoved: number }) {
  if (numRemoved > 0) {
    return (
      <EmptyState title="No checkpoint is left">
        {formatCount(numRemoved, "checkpoint")} were written and have been removed.
      </EmptyState>
    );
  }
  if (run.kind === "external") {
    return <EmptyState title="No checkpoints">The framework that reports this run keeps its own.</EmptyState>;
  }
  const every = run.spec?.checkpoint?.every_steps;
  return (
    <EmptyState title={isOver(run.state) ? "No checkpoints" : "No checkpoints yet"}>
      {isOver(run.state)
        ? "The run ended before it wrote one."
        : `One is written when reinforcement begins${every ? `, then every ${formatCount(every, "step")}` : ""}, and at the end.`}
    </EmptyState>
  );
}
