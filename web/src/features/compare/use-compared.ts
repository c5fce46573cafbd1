/** The runs of the comparison, and the metrics of each as its charts draw them. */
import { useQueries } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { fetchHistory } from "@/api/history";
import { subscribeResync, subscribeSteps } from "@/api/live/frames";
import { runOptions } from "@/api/runs";
import type { Run, XAxis } from "@/api/types";
import { ChartGroup, type XRange } from "@/components/chart/chart-group";
import { domainOf } from "@/components/chart/domain";
import { BATCH_SIZE } from "@/components/chart/metric-names";
import { RunHistory } from "@/components/chart/run-history";
import { shortNames } from "./short-names";

/** Enough for half a screen, and few enough for twenty lines. */
export const COMPARE_POINTS = 500;

export interface ComparedRun {
  id: string;
  run: Run;
  /** Without what all names share. */
  label: string;
  /** Its place: colour and dash, whichever runs are hidden. */
  series: number;
  history: RunHistory;
}

export interface Compared {
  /** Those that are there; the others are on their way or failed. */
  runs: ComparedRun[];
  group: ChartGroup;
  isLoading: boolean;
  errors: { id: string; error: Error }[];
}

export function useCompared(ids: readonly string[], x: XAxis, range: XRange | null): Compared {
  const queries = useQueries({ queries: ids.map((id) => runOptions(id)) });
  const key = ids.join(" ");
  // Another axis is another picture: charts begin anew, all with the same points.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` names the runs, and the range only begins it
  const parts = useMemo(() => {
    const histories = new Map(ids.map((id) => [id, new RunHistory(id, { x, range }, fetchHistory)]));
    return { group: new ChartGroup(x), histories };
  }, [key, x]);
  useHistories(parts.group, parts.histories);
  useEffect(() => {
    parts.group.setZoom(range);
    for (const history of parts.histories.values()) history.setView({ x, range });
  }, [parts, x, range]);

  const known = queries.flatMap(({ data }) => data ?? []);
  const names = shortNames(known.map(({ name }) => name));
  return {
    group: parts.group,
    runs: ids.flatMap((id, series): ComparedRun[] => {
      const at = known.findIndex((run) => run.id === id);
      const [run, history] = [known[at], parts.histories.get(id)];
      return run && history ? [{ id, run, label: names[at] ?? run.name, series, history }] : [];
    }),
    isLoading: queries.some(({ isPending }) => isPending),
    errors: queries.flatMap(({ error }, i) => (error ? [{ id: ids[i] ?? "", error }] : [])),
  };
}

/** Ties them to the live stream, and the axis to the longest of them. */
function useHistories(group: ChartGroup, histories: ReadonlyMap<string, RunHistory>): void {
  useEffect(() => {
    const tracks = [...histories.values()].map((history) => history.want(BATCH_SIZE, COMPARE_POINTS));
    const setDomain = () => {
      const domain = domainOf(tracks, group.xKind);
      if (domain) group.setDomain(domain);
    };
    const stops = [...histories].flatMap(([id, history]) => [
      subscribeSteps(id, (frame) => history.receive(frame)),
      subscribeResync(() => history.reload()),
      history.start(),
    ]);
    stops.push(group.start(), ...tracks.map((track) => track.onChange(setDomain)));
    return () => {
      for (const stop of stops) stop();
    };
  }, [group, histories]);
}
