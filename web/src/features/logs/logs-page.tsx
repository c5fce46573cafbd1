/** The logs of a run, live: what each process wrote, by source and level, searched, with a link to each line. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef } from "react";
import { fetchLogPage, type LogFilter } from "@/api/logs";
import { problemSentence } from "@/api/problem";
import { retentionOptions } from "@/api/retention";
import { runOptions } from "@/api/runs";
import { Banner } from "@/components/banner";
import { Button } from "@/components/button";
import { LoadingBars } from "@/components/loading-bars";
import { ProblemPanel } from "@/components/problem-panel";
import { copyText } from "@/lib/copy-text";
import { formatCount } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import { useDebounced } from "@/lib/use-debounced";
import { lineAsText, saveAs, wholeLog } from "./log-export";
import { nextHit } from "./log-hits";
import { LogLines } from "./log-lines";
import type { LogState } from "./log-reader";
import { inTimeOrder, type LogWindow } from "./log-window";
import styles from "./logs.module.css";
import type { LogsSearch, LogsSearchPatch } from "./logs-search";
import { LogsToolbar } from "./logs-toolbar";
import { NoLines } from "./no-lines";
import type { LogLinesHandle } from "./use-line-place";
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
  const { window, sources, error } = state;
  const onHit = (by: 1 | -1) => {
    const hit = nextHit(hits.ids, search.line ?? null, by);
    if (hit !== null) lines.current?.goTo(hit);
  };
  useShortcuts({ [END]: () => lines.current?.goToEnd() });
  return (
    <section className={styles.panel} aria-label="Logs">
      <LogsToolbar
        search={search}
        setSearch={setSearch}
        sources={sources}
        hits={hits}
        onHit={onHit}
        hasLines={window.lines.length > 0}
        onCopy={() => void copyLines(window)}
        onDownload={() => void download(runId, shown, run?.name ?? runId)}
      />
      <Gone runId={runId} />
      {window.lines.length > 0 ? (
        <>
          {error && <Interrupted error={error} onRetry={() => void reader.newer()} />}
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
        </>
      ) : (
        <Lineless state={state} onRetry={() => void reader.open(search.line ?? null)}>
          <NoLines run={run} search={search} setSearch={setSearch} />
        </Lineless>
      )}
    </section>
  );
}

function copyLines({ lines }: LogWindow): Promise<void> {
  return copyText(inTimeOrder(lines).map(lineAsText).join("\n"), formatCount(lines.length, "line"));
}

async function download(runId: string, filter: LogFilter, name: string): Promise<void> {
  const text = await wholeLog(
    (request, signal) => fetchLogPage(runId, filter, request, signal),
    new AbortController().signal,
  );
  saveAs(`${name}.log`, text);
}

function Interrupted({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return (
    <Banner kind="warning" actions={<Button onClick={onRetry}>Try now</Button>}>
      {problemSentence(error)} What was read stays.
    </Banner>
  );
}

interface LinelessProps {
  state: LogState;
  onRetry: () => void;
  /** What is said of a log that has no lines. */
  children: ReactNode;
}

/** In the place of the lines: not yet, or it could not be asked for, or there are none. */
function Lineless({ state: { isLoading, error }, onRetry, children }: LinelessProps) {
  if (isLoading) {
    return (
      <div className={styles.frame}>
        <LoadingBars rows={LOADING_ROWS} rowHeight={21} isText onRetry={onRetry} />
      </div>
    );
  }
  return (
    <div className={styles.nothing}>
      {error ? (
        <ProblemPanel
          title="The log did not load"
          detail={problemSentence(error)}
          onRetry={onRetry}
          retryAfterS={RETRY_S}
        />
      ) : (
        children
      )}
    </div>
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
