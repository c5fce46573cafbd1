/** Why the list is empty, and what to do about it. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { runsOptions } from "@/api/runs";
import { Button } from "@/components/button";
import { ButtonLink } from "@/components/button-link";
import { EmptyState } from "@/components/empty-state";
import { LoadingBars } from "@/components/loading-bars";
import { EXAMPLES } from "@/lib/examples";
import { formatCount, formatInteger } from "@/lib/numbers";
import { formatClockMinutes, formatDate } from "@/lib/times";
import type { RunsSearch } from "./runs-search";
import { countAll, groupByKey } from "./state-groups";

/** As high as what they stand for. */
const [WAITING_ROWS, WAITING_ROW_PX] = [4, 37];

export function RunsEmpty({ search, onClear }: { search: RunsSearch; onClear: () => void }) {
  const shown = useInfiniteQuery(runsOptions({ text: "", states: [] }));
  const withArchived = useInfiniteQuery(runsOptions({ text: "", states: [], archived: true }));
  const [all, archived] = [shown.data?.pages[0], withArchived.data?.pages[0]];
  if (!all || !archived) {
    const retry = () => void Promise.all([shown.refetch(), withArchived.refetch()]);
    return <LoadingBars rows={WAITING_ROWS} rowHeight={WAITING_ROW_PX} onRetry={retry} />;
  }
  if (archived.items.length === 0) return <NoRuns />;
  if (all.items.length === 0 && !search.archived) {
    return <AllArchived count={countAll(archived.by_state)} />;
  }
  const isFilter = search.q !== undefined || search.tags !== undefined || search.state !== "running";
  if (isFilter) return <NoMatch search={search} numHidden={countAll(all.by_state)} onClear={onClear} />;
  const last = all.items.find((run) => run.ended_at !== null);
  return <NothingRunning name={last?.name} endedAt={last?.ended_at} onClear={onClear} />;
}

function AllArchived({ count }: { count: number }) {
  return (
    <EmptyState
      title={count === 1 ? "The one run is archived" : `All ${formatInteger(count)} runs are archived`}
      actions={
        <ButtonLink to="/" search={{ archived: true }}>
          Show archived
        </ButtonLink>
      }
    >
      Archived runs keep their records and can come back at any time.
    </EmptyState>
  );
}

const HAS_DEMO = EXAMPLES.some((example) => example.name === "demo");

function NoRuns() {
  return (
    <EmptyState
      title="No runs yet"
      actions={
        <>
          {HAS_DEMO && (
            <ButtonLink to="/new" search={{ example: "demo" }} variant="primary">
              Start the demo
            </ButtonLink>
          )}
          <ButtonLink to="/new">New run</ButtonLink>
        </>
      }
    >
      Start the demo: a small model learns to spell backward on this machine in about five minutes.
    </EmptyState>
  );
}

function NoMatch({
  search,
  numHidden,
  onClear,
}: {
  search: RunsSearch;
  numHidden: number;
  onClear: () => void;
}) {
  return (
    <EmptyState title="No run matches" actions={<Button onClick={onClear}>Clear filter</Button>}>
      <bdi>{filterSentence(search)}</bdi> This filter hides {formatCount(numHidden, "run")}.
    </EmptyState>
  );
}

/** `State is failed and the name contains “gcd”.` */
export function filterSentence(search: RunsSearch): string {
  const group = groupByKey(search.state);
  const parts = [
    group && `state is ${group.word.toLowerCase()}`,
    search.q !== undefined && `the name contains “${search.q}”`,
    ...(search.tags ?? []).map((tag) => `the tag is ${tag}`),
  ].filter(Boolean);
  const sentence = parts.join(" and ");
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

interface NothingRunningProps {
  name: string | undefined;
  endedAt: string | null | undefined;
  onClear: () => void;
}

function NothingRunning({ name, endedAt, onClear }: NothingRunningProps) {
  const now = new Date();
  const at = endedAt ? new Date(endedAt) : null;
  return (
    <EmptyState
      title="Nothing is running"
      actions={
        <>
          <ButtonLink to="/new">New run</ButtonLink>
          <Button onClick={onClear}>Show all runs</Button>
        </>
      }
    >
      {at && (
        <>
          The last run, <bdi>{name}</bdi>, ended on {formatDate(at, now)} at {formatClockMinutes(at)}.
        </>
      )}
    </EmptyState>
  );
}
