/** How busy the machine is: CPU, memory, GPUs, each process, generation, and what waits in the server. One cursor. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { problemSentence } from "@/api/problem";
import { runOptions } from "@/api/runs";
import { queuedWritesOptions, systemOptions } from "@/api/system";
import { isOver, type Run, type SystemHistory } from "@/api/types";
import { Blank } from "@/components/blank";
import { Button } from "@/components/button";
import { ChartGroup } from "@/components/chart/chart-group";
import { EmptyState } from "@/components/empty-state";
import { LoadingBars } from "@/components/loading-bars";
import { ProblemPanel } from "@/components/problem-panel";
import { formatInteger } from "@/lib/numbers";
import styles from "./system.module.css";
import { LoadingPanel, SystemPanel } from "./system-panel";
import { systemPanels, USUAL_TITLES } from "./system-panels";
import type { SystemSearch, SystemSearchPatch } from "./system-search";

const RETRY_S = 5;
const LOADING_ROWS = 8;

export interface SystemPageProps {
  runId: string;
  search: SystemSearch;
  setSearch: (patch: SystemSearchPatch) => void;
}

export function SystemPage({ runId, search, setSearch }: SystemPageProps) {
  const { data: run } = useQuery(runOptions(runId));
  const isLive = run !== undefined && !isOver(run.state);
  const { data, error, refetch } = useQuery(systemOptions(runId, search, isLive));
  const group = useTimeGroup(data, search, isLive);
  const panels = useMemo(() => (data ? systemPanels(data) : []), [data]);
  if (!data) {
    return (
      <>
        <div className={styles.bar}>
          <QueueNote isLive={isLive} />
        </div>
        {error || !expectsFigures(run) ? (
          <Blank>
            {error ? (
              <ProblemPanel
                title="The machine’s figures did not load"
                detail={problemSentence(error)}
                onRetry={refetch}
                retryAfterS={RETRY_S}
              />
            ) : (
              <LoadingBars rows={LOADING_ROWS} onRetry={refetch} />
            )}
          </Blank>
        ) : (
          <div className={styles.grid}>
            {USUAL_TITLES.map((title, i) => (
              <LoadingPanel key={title} title={title} hasWords={i === 0} onRetry={refetch} />
            ))}
          </div>
        )}
      </>
    );
  }
  const isZoomed = search.from !== undefined;
  return (
    <>
      <div className={styles.bar}>
        <QueueNote isLive={isLive} />
        {data.sampled && (
          <span>
            sampled: {formatInteger(data.at.length)} of {formatInteger(data.total)}
          </span>
        )}
        {isZoomed && (
          <Button onClick={() => setSearch({ from: undefined, to: undefined })}>Show all of the time</Button>
        )}
      </div>
      {panels.length === 0 ? (
        <Blank>
          <Nothing run={run} isZoomed={isZoomed} isLive={isLive} />
        </Blank>
      ) : (
        <div className={styles.grid}>
          {panels.map((panel) => (
            <SystemPanel
              key={panel.figure}
              panel={panel}
              group={group}
              onZoom={(range) => setSearch({ from: range?.from, to: range?.to })}
            />
          ))}
        </div>
      )}
    </>
  );
}

/** Other frameworks seldom tell of their machine, and a run that never began has none. */
function expectsFigures(run: Run | undefined): boolean {
  return run?.kind === "managed" && run.started_at !== null;
}

interface NothingProps {
  run: Run | undefined;
  isZoomed: boolean;
  isLive: boolean;
}

function Nothing({ run, isZoomed, isLive }: NothingProps) {
  if (isZoomed) {
    return (
      <EmptyState title="Nothing was measured in this time">Show all of the time to see the rest.</EmptyState>
    );
  }
  return (
    <EmptyState title={isLive ? "Nothing measured yet" : "Nothing was measured"}>
      {run?.kind === "external"
        ? "The framework that reports this run told nothing of its machine."
        : isLive
          ? "The driver tells how busy its machine is with every few heartbeats."
          : "Its driver told nothing of its machine before it ended."}
    </EmptyState>
  );
}

/** All panels have the same axis, whatever they have measured. */
function useTimeGroup(data: SystemHistory | undefined, search: SystemSearch, isLive: boolean): ChartGroup {
  const group = useMemo(() => new ChartGroup("time"), []);
  useEffect(() => {
    const [from, to] = [data?.at[0], data?.at.at(-1)];
    if (from !== undefined && to !== undefined) group.setDomain({ from, to: Math.max(to, from + 1) });
  }, [group, data]);
  useEffect(() => {
    const { from, to } = search;
    group.setZoom(from !== undefined && to !== undefined ? { from, to } : null);
  }, [group, search]);
  useEffect(() => group.setLive(isLive), [group, isLive]);
  return group;
}

/** What every run of this server waits behind. */
function QueueNote({ isLive }: { isLive: boolean }) {
  const { data: queued } = useQuery(queuedWritesOptions(isLive));
  if (queued === undefined || queued === null) return null;
  return (
    <span>The server’s queue of writes: {queued === 0 ? "empty" : `${formatInteger(queued)} waiting`}</span>
  );
}
