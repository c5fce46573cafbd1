/** The list of runs: one row tells state, size, progress and why it waits. */
import { useMemo, useRef } from "react";
import { problemSentence } from "@/api/problem";
import { isOver } from "@/api/types";
import { Button } from "@/components/button";
import { ButtonLink } from "@/components/button-link";
import { Page } from "@/components/page";
import { Panel } from "@/components/panel";
import { ProblemPanel } from "@/components/problem-panel";
import { formatCount, formatInteger } from "@/lib/numbers";
import { usePageTitle } from "@/lib/use-page-title";
import { RunsEmpty } from "./runs-empty";
import { RunsFilter } from "./runs-filter";
import styles from "./runs-page.module.css";
import type { RunsSearch } from "./runs-search";
import { parseSort, type Sort, sortText } from "./runs-sort";
import { LoadingRuns, RunsTable } from "./runs-table";
import { SelectionBar } from "./selection-bar";
import { countAll } from "./state-groups";
import { useHeldRuns } from "./use-held-runs";
import { type ShownRuns, useRuns } from "./use-runs";

const RETRY_S = 5;

export interface RunsPageProps {
  search: RunsSearch;
  /** Replaces the search in the URL without a new history entry. */
  setSearch: (search: RunsSearch) => void;
}

export function RunsPage({ search, setSearch }: RunsPageProps) {
  usePageTitle("Runs");
  const shown = useRuns(search);
  const { query } = shown;
  const runs = query.data?.pages.flatMap((page) => page.items) ?? [];
  const counts = query.data?.pages[0]?.by_state ?? null;
  const all = useRuns({}).query.data?.pages[0]?.by_state;
  return (
    <Page
      title="Runs"
      note={all && `${formatCount(countAll(all), "run")}, ${formatInteger(all.running ?? 0)} running`}
      actions={
        // Without any run the demo is what the page offers first.
        <ButtonLink to="/new" variant={all && countAll(all) === 0 ? "default" : "primary"} icon="plus">
          New run
        </ButtonLink>
      }
    >
      <RunsFilter search={search} setSearch={setSearch} counts={counts} />
      <Panel aria-label="Runs" className={styles.panel}>
        <RunsBody {...shown} search={search} setSearch={setSearch} />
      </Panel>
      {search.sel && (
        <SelectionBar
          ids={search.sel}
          allAreOver={search.sel.every((id) => runs.some((run) => run.id === id && isOver(run.state)))}
          onClear={() => setSearch({ ...search, sel: [] })}
        />
      )}
    </Page>
  );
}

/** The same functions for as long as the page is open, so that a row renders only when it changes. */
function rowActions(
  latest: React.RefObject<{ search: RunsSearch; setSearch: (search: RunsSearch) => void }>,
) {
  return {
    onSelect(id: string) {
      const { search, setSearch } = latest.current;
      const sel = search.sel ?? [];
      setSearch({ ...search, sel: sel.includes(id) ? sel.filter((one) => one !== id) : [...sel, id] });
    },
    onTag(tag: string) {
      const { search, setSearch } = latest.current;
      setSearch({ ...search, tags: [...(search.tags ?? []), tag] });
    },
  };
}

interface RunsBodyProps extends ShownRuns {
  search: RunsSearch;
  setSearch: (search: RunsSearch) => void;
}

function RunsBody({ query, view, search, setSearch }: RunsBodyProps) {
  const { sel = [], sort, ...filter } = search;
  const { data, error, refetch } = query;
  const runs = data?.pages.flatMap((page) => page.items) ?? [];
  const isSorted = sort !== undefined;
  const { shown, numHeld, release, body } = useHeldRuns(runs, view, isSorted);
  const latest = useRef({ search, setSearch });
  latest.current = { search, setSearch };
  const sorting = {
    sort: parseSort(sort),
    onSort: (next: Sort | null) => setSearch({ ...search, sort: next ? sortText(next) : "" }),
  };
  const { onSelect, onTag } = useMemo(() => rowActions(latest), []);
  if (!data) {
    if (!error) return <LoadingRuns {...sorting} onRetry={refetch} />;
    const detail = problemSentence(error);
    return (
      <ProblemPanel title="The runs did not load" detail={detail} onRetry={refetch} retryAfterS={RETRY_S} />
    );
  }
  if (runs.length === 0)
    return <RunsEmpty search={filter} onClear={() => setSearch(sel.length > 0 ? { sel } : {})} />;
  return (
    <>
      {numHeld > 0 && (
        <Button className={styles.held} onClick={release}>
          {formatCount(numHeld, "new run")}
        </Button>
      )}
      <RunsTable
        runs={shown}
        body={body}
        selected={sel}
        onSelect={onSelect}
        onTag={onTag}
        {...sorting}
        onEnd={query.hasNextPage && !query.isFetching ? query.fetchNextPage : null}
      />
      {query.hasNextPage && (
        <p className={styles.more} role="status">
          {formatInteger(runs.length)} of {formatInteger(data.pages[0]?.total ?? 0)} runs are loaded
        </p>
      )}
    </>
  );
}
