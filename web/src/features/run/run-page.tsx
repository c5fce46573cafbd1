/** The overview of a run: the hero chart, then every metric, all over one x axis and under one cursor. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useRef } from "react";
import { runOptions } from "@/api/runs";
import { isOver } from "@/api/types";
import type { XRange } from "@/components/chart/chart-group";
import type { PlotView } from "@/components/chart/plot-config";
import { type RunCharts, useRunCharts } from "@/components/chart/use-run-charts";
import { useZoomKeys } from "@/components/chart/use-zoom-keys";
import { useShortcuts } from "@/lib/shortcuts";
import { CriticalAdvisories } from "./critical-advisories";
import { HeroChart } from "./hero-chart";
import { Metrics } from "./metrics";
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
      <OverviewToolbar search={search} setSearch={setSearch} charts={charts} findRef={find}>
        {run && <RlOnly run={run} charts={charts} search={search} onZoom={onZoom} />}
      </OverviewToolbar>
      {run && <HeroChart run={run} {...panel} />}
      <Metrics
        runId={runId}
        hasSteps={(run?.num_steps ?? 0) > 0}
        search={search}
        setSearch={setSearch}
        {...panel}
      />
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
