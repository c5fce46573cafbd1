/** Ties a run's metrics to the live stream and to the charts of the page, for as long as the page is open. */
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { fetchHistory } from "@/api/history";
import { subscribeResync, subscribeSteps } from "@/api/live/frames";
import type { XAxis } from "@/api/types";
import { ChartGroup, type XRange } from "./chart-group";
import { domainOf } from "./domain";
import { BATCH_SIZE } from "./metric-names";
import type { MetricTrack } from "./metric-track";
import { RunHistory, type TrackState } from "./run-history";

export const HERO_POINTS = 1000;

export interface RunCharts {
  history: RunHistory;
  group: ChartGroup;
  /** Every step has a batch size: its track knows the whole x axis. */
  batch: MetricTrack;
}

export function useRunCharts(runId: string, x: XAxis, range: XRange | null, isLive: boolean): RunCharts {
  // biome-ignore lint/correctness/useExhaustiveDependencies: x and range only begin it; setView changes them
  const charts = useMemo((): RunCharts => {
    const history = new RunHistory(runId, { x, range }, fetchHistory);
    return { history, group: new ChartGroup(x), batch: history.want(BATCH_SIZE, HERO_POINTS) };
  }, [runId]);
  const { history, group, batch } = charts;

  useEffect(() => {
    const stops = [
      subscribeSteps(runId, (frame) => history.receive(frame)),
      subscribeResync(() => history.reload()),
      history.start(),
      group.start(),
      history.onAxis((axis) => group.setXKind(axis)),
      batch.onChange(() => group.setDomain(domainOf([batch], group.xKind) ?? group.domain)),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [runId, history, group, batch]);

  useEffect(() => {
    group.setZoom(range);
    group.expectXKind(x);
    history.setView({ x, range });
  }, [history, group, x, range]);

  useEffect(() => group.setLive(isLive), [group, isLive]);
  return charts;
}

/** Whether the points of another axis than the one that is shown were asked for and are not there yet. */
export function useIsAxisComing(history: RunHistory, x: XAxis): boolean {
  const shown = useSyncExternalStore(
    (listener) => history.onState(listener),
    () => history.axis,
  );
  return shown !== x;
}

export function useTrackState(history: RunHistory, track: MetricTrack): TrackState {
  return useSyncExternalStore(
    (listener) => history.onState(listener),
    () => history.stateOf(track),
  );
}
