/** One reader of the log for as long as the same lines are asked for, and the hits of what is looked for. */
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { subscribeResync } from "@/api/live/frames";
import { subscribeNews } from "@/api/live/news";
import { fetchLogPage, type LogFilter } from "@/api/logs";
import { findHits, type Hits, NO_HITS } from "./log-hits";
import { type FetchLogPage, LogReader, type LogState } from "./log-reader";

export interface ReadLog {
  reader: LogReader;
  state: LogState;
}

/** `line`: where reading begins; what it becomes later is for whoever scrolls. */
export function useLogReader(runId: string, filter: LogFilter, line: number | null): ReadLog {
  const { source, level, q } = filter;
  const reader = useMemo(() => {
    const wanted = { ...(source && { source }), ...(level && { level }), ...(q && { q }) };
    return new LogReader((request, signal) => fetchLogPage(runId, wanted, request, signal));
  }, [runId, source, level, q]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only where reading begins
  useEffect(() => {
    void reader.open(line);
    const stops = [
      subscribeNews("logs", runId, () => void reader.newer()),
      subscribeResync(() => void reader.newer()),
    ];
    return () => {
      for (const stop of stops) stop();
      reader.close();
    };
  }, [reader, runId]);
  const state = useSyncExternalStore(
    (listener) => reader.onChange(listener),
    () => reader.state,
  );
  return { reader, state };
}

/** How often hits are counted again while lines come. */
const RECOUNT_MS = 3000;

/** Lines that hold the text, among those that the filter lets through. */
export function useHits(runId: string, filter: LogFilter): Hits {
  const { source, level, q } = filter;
  const [hits, setHits] = useState<Hits>(NO_HITS);
  useEffect(() => {
    setHits(NO_HITS);
    if (!q) return;
    const abort = new AbortController();
    const wanted = { ...(source && { source }), ...(level && { level }), q };
    const fetchPage: FetchLogPage = (request, signal) => fetchLogPage(runId, wanted, request, signal);
    let [isUnderWay, isOld, timer] = [false, false, null as ReturnType<typeof setTimeout> | null];
    const count = async () => {
      timer = null;
      [isUnderWay, isOld] = [true, false];
      // What the log itself says of a failure is enough.
      const known = await findHits(fetchPage, abort.signal).catch(() => null);
      isUnderWay = false;
      if (abort.signal.aborted) return;
      if (known) setHits(known);
      if (isOld) later();
    };
    const later = () => {
      if (isUnderWay) isOld = true;
      else timer ??= setTimeout(() => void count(), RECOUNT_MS);
    };
    void count();
    const stop = subscribeNews("logs", runId, later);
    return () => {
      abort.abort();
      if (timer !== null) clearTimeout(timer);
      stop();
    };
  }, [runId, source, level, q]);
  return hits;
}
