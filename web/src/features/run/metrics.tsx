/** Every metric of the run that the filter lets through, in its groups; those that are pinned come first. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { askAgain } from "@/api/ask-again";
import { catalogueOptions } from "@/api/history";
import { problemSentence } from "@/api/problem";
import { Blank } from "@/components/blank";
import { Button } from "@/components/button";
import type { XRange } from "@/components/chart/chart-group";
import { NOISE_SCALE } from "@/components/chart/metric-names";
import type { PlotView } from "@/components/chart/plot-config";
import { type RunCharts, useTrackState } from "@/components/chart/use-run-charts";
import { EmptyState } from "@/components/empty-state";
import { ProblemPanel } from "@/components/problem-panel";
import { LoadingMetrics } from "./loading-metrics";
import { MetricGrid } from "./metric-grid";
import { arrange, DEFAULT_PINS, findMetrics, type MetricGroup, movePin, togglePin } from "./metric-groups";
import { NoiseChart } from "./noise-chart";
import type { RunSearch, RunSearchPatch } from "./run-search";

const RETRY_S = 5;
/** Of a row of panels. */
const BLANK_PX = 178;

export interface MetricsProps {
  runId: string;
  /** Whether there are any to be expected. */
  hasSteps: boolean;
  search: RunSearch;
  setSearch: (patch: RunSearchPatch) => void;
  charts: RunCharts;
  view: PlotView;
  onZoom: (range: XRange | null) => void;
  onOpenStep: (step: number) => void;
}

export function Metrics({ runId, hasSteps, search, setSearch, ...panel }: MetricsProps) {
  const { names, isLoading, error, refetch } = useNames(runId, panel.charts);
  const query = search.find ?? "";
  const found = useMemo(() => findMetrics(names, query), [names, query]);
  const arranged = useArranged(found, search, setSearch);
  if (error && names.length === 0) {
    return (
      <Blank minHeight={BLANK_PX}>
        <ProblemPanel
          title="The metrics did not load"
          detail={problemSentence(error)}
          onRetry={refetch}
          retryAfterS={RETRY_S}
        />
      </Blank>
    );
  }
  if (isLoading && hasSteps) return <LoadingMetrics />;
  if (query !== "" && found.length === 0 && names.length > 0) {
    return (
      <Blank minHeight={BLANK_PX}>
        <EmptyState
          title="No metric matches"
          actions={<Button onClick={() => setSearch({ find: undefined })}>Clear filter</Button>}
        >
          No name contains “<bdi>{query}</bdi>”. This filter hides {names.length} metrics.
        </EmptyState>
      </Blank>
    );
  }
  return (
    <>
      {names.includes(NOISE_SCALE) && <NoiseChart {...panel} />}
      <MetricGrid {...arranged} {...panel} />
    </>
  );
}

/** The names of all metrics, those too that come while the run is looked at. */
function useNames(runId: string, charts: RunCharts) {
  // The first chart has the server to itself; the list of metrics follows it.
  const isFirstDone = useTrackState(charts.history, charts.batch).kind !== "loading";
  const { data, error, refetch } = useQuery({ ...catalogueOptions(runId), enabled: isFirstDone });
  const names = useMemo(() => data?.items.map(({ name }) => name) ?? [], [data]);
  useNewNames(runId, charts, names);
  return { names, isLoading: !data, error, refetch };
}

/** Where each metric has its place, and what moves it: pins, and groups that are opened and closed. */
function useArranged(
  found: readonly string[],
  search: RunSearch,
  setSearch: (patch: RunSearchPatch) => void,
) {
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
    (search.find ?? "") !== "" || group.opensByDefault !== toggled.includes(group.name);
  const onToggle = ({ name }: MetricGroup) =>
    setSearch({
      toggled: toggled.includes(name) ? toggled.filter((one) => one !== name) : [...toggled, name],
    });
  return { arrangement, pinning, isOpen, onToggle };
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
