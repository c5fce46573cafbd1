/** What is said where the log has no lines: a filter hides them, none was written, or none yet. */
import { isOver, type Run } from "@/api/types";
import { Button } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import type { LogsSearch, LogsSearchPatch } from "./logs-search";

export interface NoLinesProps {
  run: Run | undefined;
  search: LogsSearch;
  setSearch: (patch: LogsSearchPatch) => void;
}

export function NoLines({ run, search, setSearch }: NoLinesProps) {
  const { source, level, q, only } = search;
  if (source || level || only) {
    const clear = { source: undefined, level: undefined, only: undefined, line: undefined };
    return (
      <EmptyState
        title="No line matches"
        actions={<Button onClick={() => setSearch(clear)}>Show all lines</Button>}
      >
        {source && (
          <>
            Source is <bdi>{source}</bdi>.{" "}
          </>
        )}
        {level && <>Level is {level} or above. </>}
        {only && (
          <>
            The text holds “<bdi>{q}</bdi>”.
          </>
        )}
      </EmptyState>
    );
  }
  const isGone = run !== undefined && isOver(run.state);
  return (
    <EmptyState title={isGone ? "No lines were recorded" : "No lines yet"}>
      {run?.kind === "external" ? "The framework that reports this run sent none." : ofJob(isGone)}
    </EmptyState>
  );
}

function ofJob(isGone: boolean): string {
  return isGone
    ? "No process of this run wrote to its log."
    : "The first line is recorded when the run’s job begins to write.";
}
