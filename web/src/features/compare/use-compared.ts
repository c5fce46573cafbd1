/** The runs of the comparison, and the metrics of each as its charts draw them. */
import { useQueries } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { fetchHistory } from "@/api/history";
import { subscribeResync, subscribeSteps } from "@/api/live/frames";
import { runOptions } from "@/api/runs";
import { isOver, type Run, type XAxis } from "@/api/types";
import { ChartGroup, type XRange } from "@/components/chart/chart-group";
import { domainOf } from "@/components/chart/domain";
import { BATCH_SIZE } from "@/components/chart/metric-names";
import { RunHistory } from "@/components/chart/run-history";
import { firstRlStepQuery } from "@/components/use-first-rl-step";
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
  /** Whether one of them trained supervised before it did by reinforcement learning. */
  hasSupervised: boolean;
  errors: { id: string; error: Error }[];
}

export interface ComparedView {
  x: XAxis;
  range: XRange | null;
  /** Without the supervised steps that a run begins with. */
  isRlOnly: boolean;
}

export function useCompared(ids: readonly string[], { x, range, isRlOnly }: ComparedView): Compared {
  const queries = useQueries({ queries: ids.map((id) => runOptions(id)) });
  const known = queries.flatMap(({ data }) => data ?? []);
  const firstRlSteps = useFirstRlSteps(known);
  const firstSteps = ids.map((id) => (isRlOnly ? (firstRlSteps.get(id) ?? Number.POSITIVE_INFINITY) : 0));
  const key = ids.join(" ");
  // Another axis is another picture: charts begin anew, all with the same points.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` names the runs, and the rest only begins it
  const parts = useMemo(() => {
    const histories = ids.map((id, i): [string, RunHistory] => [
      id,
      new RunHistory(id, { x, range, firstStep: firstSteps[i] ?? 0 }, fetchHistory),
    ]);
    return { group: new ChartGroup(x), histories: new Map(histories) };
  }, [key, x]);
  useHistories(parts.group, parts.histories);
  const firstKey = firstSteps.join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `firstKey` tells the first steps, a new list each time
  useEffect(() => {
    parts.group.setZoom(range);
    [...parts.histories.values()].forEach((history, i) => {
      history.setView({ x, range, firstStep: firstSteps[i] ?? 0 });
    });
  }, [parts, x, range, firstKey]);

  const names = shortNames(known.map(({ name }) => name));
  return {
    group: parts.group,
    runs: ids.flatMap((id, series): ComparedRun[] => {
      const at = known.findIndex((run) => run.id === id);
      const [run, history] = [known[at], parts.histories.get(id)];
      return run && history ? [{ id, run, label: names[at] ?? run.name, series, history }] : [];
    }),
    isLoading: queries.some(({ isPending }) => isPending),
    hasSupervised: [...firstRlSteps.values()].some((first) => first !== 0 && Number.isFinite(first)),
    errors: queries.flatMap(({ error }, i) => (error ? [{ id: ids[i] ?? "", error }] : [])),
  };
}

/** Where reinforcement learning begins in each: 0 where nothing comes before it, infinite while it has not begun. */
function useFirstRlSteps(runs: readonly Run[]): ReadonlyMap<string, number> {
  const queries = useQueries({ queries: runs.map((run) => firstRlStepQuery(run, !isOver(run.state))) });
  return new Map(
    runs.map((run, i) => [
      run.id,
      run.spec?.warm_start == null ? 0 : (queries[i]?.data ?? Number.POSITIVE_INFINITY),
    ]),
  );
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
