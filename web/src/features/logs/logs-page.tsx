/** The logs of a run, live: what each process wrote, by source and level, searched, with a link to each line. */
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { fetchLogPage, type LogFilter } from "@/api/logs";
import { problemSentence } from "@/api/problem";
import { retentionOptions } from "@/api/retention";
import { runOptions } from "@/api/runs";
import { isOver, type Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { Button } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import { LoadingBars } from "@/components/loading-bars";
import { ProblemPanel } from "@/components/problem-panel";
import { copyText } from "@/lib/copy-text";
import { formatCount } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import { useDebounced } from "@/lib/use-debounced";
import { lineAsText, saveAs, wholeLog } from "./log-export";
import { nextHit } from "./log-hits";
import { LogLines, type LogLinesHandle } from "./log-lines";
import { inTimeOrder } from "./log-window";
import styles from "./logs.module.css";
import type { LogsSearch, LogsSearchPatch } from "./logs-search";
import { LogsToolbar } from "./logs-toolbar";
import { useHits, useLogReader } from "./use-log-reader";

const END = "End";
const RETRY_S = 5;
const LOADING_ROWS = 30;

export interface LogsPageProps {
  runId: string;
  search: LogsSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: LogsSearchPatch) => void;
}

export function LogsPage({ runId, search, setSearch }: LogsPageProps) {
  const { data: run } = useQuery(runOptions(runId));
  const query = useDebounced(search.q ?? "");
  const filter: LogFilter = {
    ...(search.source && { source: search.source }),
    ...(search.level && { level: search.level }),
  };
  const shown = { ...filter, ...(search.only && query !== "" && { q: query }) };
  const { reader, state } = useLogReader(runId, shown, search.line ?? null);
  const hits = useHits(runId, { ...filter, q: query });
  const lines = useRef<LogLinesHandle>(null);
  const { window, sources, isLoading, error } = state;

  const onHit = (by: 1 | -1) => {
    const hit = nextHit(hits.ids, search.line ?? null, by);
    if (hit !== null) lines.current?.goTo(hit);
  };
  const onCopy = () =>
    copyText(inTimeOrder(window.lines).map(lineAsText).join("\n"), formatCount(window.lines.length, "line"));
  const onDownload = async () => {
    const fetchPage: Parameters<typeof wholeLog>[0] = (request, signal) =>
      fetchLogPage(runId, shown, request, signal);
    const text = await wholeLog(fetchPage, new AbortController().signal);
    saveAs(`${run?.name ?? runId}.log`, text);
  };
  useShortcuts({ [END]: () => lines.current?.goToEnd() });
  const isEmpty = !isLoading && window.lines.length === 0;
  return (
    <section className={styles.panel} aria-label="Logs">
      <LogsToolbar
        search={search}
        setSearch={setSearch}
        sources={sources}
        hits={hits}
        onHit={onHit}
        onCopy={() => void onCopy()}
        onDownload={() => void onDownload()}
      />
      <Gone runId={runId} />
      {error && window.lines.length > 0 && (
        <Banner kind="warning" actions={<Button onClick={() => void reader.newer()}>Try now</Button>}>
          {problemSentence(error)} What was read stays.
        </Banner>
      )}
      {window.lines.length > 0 && (
        <LogLines
          runId={runId}
          reader={reader}
          window={window}
          query={query}
          line={search.line ?? null}
          isOfOneSource={search.source !== undefined}
          onLine={(line) => setSearch({ line })}
          handle={lines}
        />
      )}
      {isLoading && window.lines.length === 0 && (
        <div className={styles.frame}>
          <LoadingBars
            rows={LOADING_ROWS}
            rowHeight={21}
            onRetry={() => void reader.open(search.line ?? null)}
          />
        </div>
      )}
      {isEmpty && (
        <div className={styles.nothing}>
          {error ? (
            <ProblemPanel
              title="The log did not load"
              detail={problemSentence(error)}
              onRetry={() => void reader.open(search.line ?? null)}
              retryAfterS={RETRY_S}
            />
          ) : (
            <NoLines run={run} search={search} setSearch={setSearch} />
          )}
        </div>
      )}
    </section>
  );
}

/** Where the log does not begin at its beginning. */
function Gone({ runId }: { runId: string }) {
  const { data } = useQuery(retentionOptions(runId));
  const gone = data?.pruned.find(({ kind }) => kind === "logs");
  if (!gone) return null;
  return (
    <p className={styles.gone}>
      {formatCount(gone.num_removed, "earlier line")} {gone.num_removed === 1 ? "is" : "are"} {gone.message}.
    </p>
  );
}

interface NoLinesProps extends Pick<LogsPageProps, "search" | "setSearch"> {
  run: Run | undefined;
}

function NoLines({ run, search, setSearch }: NoLinesProps) {
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
      {isGone
        ? "No process of this run wrote to its log."
        : "The first line is recorded when the run’s job begins to write."}
    </EmptyState>
  );
}
