/** The overview of a run: the hero chart, then every metric, all over one x axis and under one cursor. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { askAgain } from "@/api/ask-again";
import { catalogueOptions } from "@/api/history";
import { problemSentence } from "@/api/problem";
import { runOptions } from "@/api/runs";
import { isOver } from "@/api/types";
import { Button } from "@/components/button";
import type { XRange } from "@/components/chart/chart-group";
import { NOISE_SCALE } from "@/components/chart/metric-names";
import type { PlotView } from "@/components/chart/plot-config";
import { type RunCharts, useRunCharts, useTrackState } from "@/components/chart/use-run-charts";
import { useZoomKeys } from "@/components/chart/use-zoom-keys";
import { EmptyState } from "@/components/empty-state";
import { ProblemPanel } from "@/components/problem-panel";
import { useShortcuts } from "@/lib/shortcuts";
import { CriticalAdvisories } from "./critical-advisories";
import { HeroChart } from "./hero-chart";
import { MetricGrid } from "./metric-grid";
import gridStyles from "./metric-grid.module.css";
import { arrange, DEFAULT_PINS, findMetrics, type MetricGroup, movePin, togglePin } from "./metric-groups";
import { NoiseChart } from "./noise-chart";
import { OverviewToolbar } from "./overview-toolbar";
import { RlOnly } from "./rl-only";
import type { RunSearch, RunSearchPatch } from "./run-search";

export interface RunPageProps {
  runId: string;
  search: RunSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: RunSearchPatch) => void;
}

export function RunPage({ runId, search, setSearch }: RunPageProps) {
  const { data: run } = useQuery(runOptions(runId));
  const range = useRange(search);
  const charts = useRunCharts(runId, search.x ?? "step", range, run !== undefined && !isOver(run.state));
  const view = usePlotView(search);
  const find = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const onOpenStep = useCallback(
    (step: number) => void navigate({ to: "/runs/$runId/schedule", params: { runId }, search: { step } }),
    [navigate, runId],
  );
  const onZoom = useCallback(
    (range: XRange | null) => {
      const isOpen = range?.to === Number.POSITIVE_INFINITY;
      setSearch({ from: range?.from, to: isOpen ? undefined : range?.to });
    },
    [setSearch],
  );
  useOverviewKeys({ search, setSearch, charts, onZoom, find });
  const panel = { charts, view, onZoom, onOpenStep };
  return (
    <>
      {run && <CriticalAdvisories run={run} />}
      <OverviewToolbar search={search} setSearch={setSearch} batch={charts.batch} findRef={find}>
        {run && <RlOnly run={run} charts={charts} search={search} onZoom={onZoom} />}
      </OverviewToolbar>
      {run && <HeroChart run={run} {...panel} />}
      <Metrics runId={runId} search={search} setSearch={setSearch} {...panel} />
    </>
  );
}

function useRange({ from, to }: RunSearch): XRange | null {
  return useMemo(
    () => (from === undefined ? null : { from, to: to ?? Number.POSITIVE_INFINITY }),
    [from, to],
  );
}

function usePlotView({ log, bands, old, smooth }: RunSearch): PlotView {
  return useMemo(
    () => ({ log: log === true, bands: bands !== false, old: old !== false, smoothing: smooth ?? 0 }),
    [log, bands, old, smooth],
  );
}

interface Keys {
  search: RunSearch;
  setSearch: (patch: RunSearchPatch) => void;
  charts: RunCharts;
  onZoom: (range: XRange | null) => void;
  find: React.RefObject<HTMLInputElement | null>;
}

function useOverviewKeys({ search, setSearch, charts, onZoom, find }: Keys): void {
  useZoomKeys(charts.group, onZoom);
  useShortcuts({
    f: () => find.current?.focus(),
    b: () => setSearch({ bands: search.bands === false }),
    o: () => setSearch({ old: search.old === false }),
    y: () => setSearch({ log: !search.log }),
  });
}

interface MetricsProps {
  runId: string;
  search: RunSearch;
  setSearch: (patch: RunSearchPatch) => void;
  charts: RunCharts;
  view: PlotView;
  onZoom: (range: XRange | null) => void;
  onOpenStep: (step: number) => void;
}

const RETRY_S = 5;

function Metrics({ runId, search, setSearch, ...panel }: MetricsProps) {
  const { history, batch } = panel.charts;
  // The first chart has the server to itself; the list of metrics follows it.
  const isFirstDone = useTrackState(history, batch).kind !== "loading";
  const { data, error, refetch } = useQuery({ ...catalogueOptions(runId), enabled: isFirstDone });
  const names = useMemo(() => data?.items.map(({ name }) => name) ?? [], [data]);
  useNewNames(runId, panel.charts, names);
  const query = search.find ?? "";
  const found = useMemo(() => findMetrics(names, query), [names, query]);
  const pins = search.pins ?? DEFAULT_PINS;
  const arrangement = useMemo(() => arrange(found, pins), [found, pins]);
  const pinning = {
    isPinned: (name: string) => pins.includes(name),
    onPin: (name: string) => setSearch({ pins: togglePin(pins, name) }),
    onMove: (name: string, by: 1 | -1) => setSearch({ pins: movePin(pins, arrangement.pinned, name, by) }),
  };
  const toggled = search.toggled ?? [];
  // Who looks for a metric wants to see it, whatever group it is in.
  const isOpen = (group: MetricGroup) =>
    query !== "" || group.opensByDefault !== toggled.includes(group.name);
  const onToggle = ({ name }: MetricGroup) =>
    setSearch({
      toggled: toggled.includes(name) ? toggled.filter((one) => one !== name) : [...toggled, name],
    });

  if (error && names.length === 0) {
    return (
      <div className={gridStyles.nothing}>
        <ProblemPanel
          title="The metrics did not load"
          detail={problemSentence(error)}
          onRetry={refetch}
          retryAfterS={RETRY_S}
        />
      </div>
    );
  }
  if (query !== "" && found.length === 0 && names.length > 0) {
    return (
      <div className={gridStyles.nothing}>
        <EmptyState
          title="No metric matches"
          actions={<Button onClick={() => setSearch({ find: undefined })}>Clear filter</Button>}
        >
          No name contains “<bdi>{query}</bdi>”. This filter hides {names.length} metrics.
        </EmptyState>
      </div>
    );
  }
  return (
    <>
      {names.includes(NOISE_SCALE) && <NoiseChart {...panel} />}
      <MetricGrid
        arrangement={arrangement}
        isOpen={isOpen}
        onToggle={onToggle}
        pinning={pinning}
        {...panel}
      />
    </>
  );
}

/** A metric that a frame brings for the first time is added to the list. */
function useNewNames(runId: string, { history }: RunCharts, names: readonly string[]): void {
  const queryClient = useQueryClient();
  useEffect(() => {
    const known = new Set(names);
    return history.onFrame((frame) => {
      const isNew = (name: string) =>
        !known.has(name) && frame.metrics[name]?.some((value) => value !== null);
      if (!Object.keys(frame.metrics).some(isNew)) return;
      for (const name of Object.keys(frame.metrics)) known.add(name);
      askAgain(queryClient, { queryKey: catalogueOptions(runId).queryKey });
    });
  }, [queryClient, runId, history, names]);
}
