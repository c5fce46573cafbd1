/** Batch size as a stepped area, loss over it as a line: the run in one picture. */
import { useCallback, useMemo, useState } from "react";
import { problemSentence } from "@/api/problem";
import { isOver, type Run } from "@/api/types";
import { IconButton } from "@/components/button";
import { Chart } from "@/components/chart/chart";
import type { XRange } from "@/components/chart/chart-group";
import {
  BATCH_SIZE,
  DUMMIES,
  IDLE,
  IDLE_BOUND,
  LOSS,
  LR,
  MICRO_BATCHES,
} from "@/components/chart/metric-names";
import { NonFiniteMarks } from "@/components/chart/non-finite-marks";
import type { PlotConfig, PlotView } from "@/components/chart/plot-config";
import { HERO_POINTS, type RunCharts, useTrackState } from "@/components/chart/use-run-charts";
import { LoadingBars } from "@/components/loading-bars";
import { NoSteps } from "@/components/no-steps";
import { ProblemPanel } from "@/components/problem-panel";
import { classNames } from "@/lib/class-names";
import { formatInteger } from "@/lib/numbers";
import styles from "./hero.module.css";
import type { HeroTracks } from "./hero-readings";
import { HeroDock, HeroTooltip } from "./hero-tooltip";
import { useTrackFacts } from "./use-track-facts";

const RETRY_S = 5;
/** Seven rows of grid: batch size fills the lower four, loss the upper four, so that they rarely cross. */
const ROWS = 7;
const BATCH_AXIS = {
  fromZero: true,
  percent: false,
  integer: true,
  canBeLog: false,
  part: { rows: ROWS, from: 0, to: 4 },
};
const LOSS_AXIS = {
  fromZero: false,
  percent: false,
  integer: false,
  canBeLog: true,
  part: { rows: ROWS, from: 3, to: ROWS },
};

export interface HeroChartProps {
  run: Pick<Run, "id" | "state" | "num_steps">;
  charts: RunCharts;
  view: PlotView;
  onZoom: (range: XRange | null) => void;
  onOpenStep: (step: number) => void;
}

export function HeroChart({ run, charts, view, onZoom, onOpenStep }: HeroChartProps) {
  const { history, group } = charts;
  const tracks = useHeroTracks(charts);
  const [showsTable, setShowsTable] = useState(false);
  const [hidden, setHidden] = useState(0);
  const state = useTrackState(history, tracks.batch);
  const facts = useTrackFacts(tracks.batch);
  const reload = useCallback(() => history.reload(), [history]);
  const config = useHeroConfig(tracks, view);
  const isReady = state.kind === "ready" && !facts.isEmpty;
  // No chart is to be expected, unless an earlier attempt left one.
  const isShort = isOver(run.state) && run.num_steps === 0 && !isReady;
  return (
    <section
      className={classNames(styles.hero, !isReady && !isShort && styles.awaited)}
      aria-labelledby="hero-title"
    >
      <div className={styles.head}>
        <h2 id="hero-title">Batch size and loss</h2>
        {isReady && <HeroLegend tracks={tracks} view={view} hidden={hidden} />}
        <span className={styles.note}>{facts.sampled}</span>
        {isReady && (
          <IconButton
            icon="table"
            label={showsTable ? "Show the chart" : "Show the table"}
            aria-pressed={showsTable}
            className={styles.tableButton}
            onClick={() => setShowsTable(!showsTable)}
          />
        )}
      </div>
      <div className={classNames(styles.body, isShort && styles.short)}>
        {state.kind === "loading" && <LoadingBars rows={isShort ? 2 : 7} rowHeight={44} onRetry={reload} />}
        {state.kind === "failed" && (
          <ProblemPanel
            title="This chart did not load"
            detail={problemSentence(state.error)}
            onRetry={reload}
            retryAfterS={RETRY_S}
          />
        )}
        {state.kind === "ready" && facts.isEmpty && <NoSteps state={run.state} />}
        {isReady && (
          <>
            <Chart
              group={group}
              config={config}
              label="Batch size and loss"
              className={styles.plot}
              showsTable={showsTable}
              onToggleTable={() => setShowsTable(!showsTable)}
              onZoom={onZoom}
              onOpenStep={onOpenStep}
              onStatus={(status) => setHidden(status.hidden)}
            />
            {!showsTable && <HeroTooltip runId={run.id} group={group} tracks={tracks} />}
          </>
        )}
      </div>
      {isReady && <HeroDock runId={run.id} group={group} tracks={tracks} />}
    </section>
  );
}

/** Batch size at the left, loss over it at the right. */
function useHeroConfig(tracks: HeroTracks, view: PlotView): PlotConfig {
  return useMemo(
    (): PlotConfig => ({
      lines: [
        { track: tracks.batch, kind: "area", side: "left", label: "Batch size" },
        { track: tracks.loss, kind: "line", side: "right", label: "Loss" },
      ],
      left: BATCH_AXIS,
      right: LOSS_AXIS,
      view,
      labelsOld: true,
    }),
    [tracks, view],
  );
}

/** The two lines come with the first request; what only the tooltip needs comes after it. */
function useHeroTracks({ history, batch }: RunCharts): HeroTracks {
  return useMemo(
    () => ({
      batch,
      loss: history.want(LOSS, HERO_POINTS),
      microBatches: history.want(MICRO_BATCHES, HERO_POINTS, true),
      dummies: history.want(DUMMIES, HERO_POINTS, true),
      idle: history.want(IDLE, HERO_POINTS, true),
      idleBound: history.want(IDLE_BOUND, HERO_POINTS, true),
      lr: history.want(LR, HERO_POINTS, true),
    }),
    [history, batch],
  );
}

function HeroLegend({ tracks, view, hidden }: { tracks: HeroTracks; view: PlotView; hidden: number }) {
  const batch = useTrackFacts(tracks.batch);
  const loss = useTrackFacts(tracks.loss);
  const perBucket = Math.max(batch.stepsPerBucket, loss.stepsPerBucket);
  return (
    <div className={styles.legend}>
      <span>
        <i className={styles.keyArea} />
        {BATCH_SIZE}, left
      </span>
      <span>
        <i className={styles.keyLine} />
        loss, right
      </span>
      {view.smoothing > 0 && <span>EMA {view.smoothing}</span>}
      {view.bands && perBucket > 1 && (
        <span>
          <i className={styles.keyBand} />
          min to max of {formatInteger(perBucket)} steps
        </span>
      )}
      <NonFiniteMarks counts={loss.nonFinite} />
      {hidden > 0 && <span>log: {formatInteger(hidden)} points ≤ 0 hidden</span>}
      {view.old &&
        batch.old.map((text) => (
          <span key={text} className="narrow-only">
            <i className={styles.keyOld} />
            {text}
          </span>
        ))}
    </div>
  );
}
