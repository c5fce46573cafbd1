/** One metric of all runs over one another. */
import { useEffect, useId, useMemo, useState, useSyncExternalStore } from "react";
import { problemSentence } from "@/api/problem";
import { IconButton } from "@/components/button";
import { Chart } from "@/components/chart/chart";
import type { ChartGroup, XRange } from "@/components/chart/chart-group";
import { BATCH_SIZE } from "@/components/chart/metric-names";
import { sampledCounts } from "@/components/chart/metric-track";
import { PLAIN_AXIS, type PlotConfig, type PlotLine, type PlotView } from "@/components/chart/plot-config";
import type { RunHistory, TrackState } from "@/components/chart/run-history";
import { WhenNear } from "@/components/chart/when-near";
import { LoadingBars } from "@/components/loading-bars";
import { ProblemPanel } from "@/components/problem-panel";
import { classNames } from "@/lib/class-names";
import { formatCount, formatInteger } from "@/lib/numbers";
import styles from "./compare.module.css";
import { COMPARE_POINTS, type ComparedRun } from "./use-compared";

const RETRY_S = 5;
const LOADING_ROWS = 5;
const LOADING_ROW_PX = 44;

export interface ComparePanelProps {
  name: string;
  runs: readonly ComparedRun[];
  group: ChartGroup;
  view: PlotView;
  onZoom: (range: XRange | null) => void;
  onRemove: () => void;
}

export function ComparePanel(props: ComparePanelProps) {
  const title = useId();
  const slash = props.name.indexOf("/") + 1;
  return (
    <section className={styles.chart} aria-labelledby={title}>
      <div className={styles.chartHead}>
        <h2 id={title}>
          {slash > 0 && <span>{props.name.slice(0, slash)}</span>}
          {props.name.slice(slash)}
        </h2>
        <SampledNote {...props} />
        <IconButton icon="cross" label={`Remove ${props.name}`} onClick={props.onRemove} />
      </div>
      <WhenNear className={styles.plot}>
        <Plotted {...props} />
      </WhenNear>
    </section>
  );
}

/** The chart once one of its runs is there; until then what it waits for, or why it is not. */
function Plotted(props: ComparePanelProps) {
  const { name, runs } = props;
  const states = useStates(props);
  const failed = states.find((state) => state.kind === "failed");
  const retry = () => {
    for (const { history } of runs) history.retry(history.want(name, COMPARE_POINTS));
  };
  if (states.some(({ kind }) => kind === "ready")) return <Lines {...props} />;
  if (failed?.kind === "failed") {
    return (
      <div className={classNames(styles.plot, styles.instead)}>
        <ProblemPanel
          title="This chart did not load"
          detail={problemSentence(failed.error)}
          onRetry={retry}
          retryAfterS={RETRY_S}
          headingLevel={3}
        />
      </div>
    );
  }
  if (runs.length === 0) return <p className={classNames(styles.plot, styles.none)}>No run is drawn.</p>;
  return (
    <div className={styles.plot}>
      <LoadingBars rows={LOADING_ROWS} rowHeight={LOADING_ROW_PX} onRetry={retry} />
    </div>
  );
}

function useStates({ name, runs, group }: ComparePanelProps): TrackState[] {
  const read = () => runs.map(({ history }) => history.stateOf(history.want(name, COMPARE_POINTS)));
  const [states, setStates] = useState(read);
  const key = runs.map(({ id }) => id).join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` names the runs, which are new objects each time
  useEffect(() => {
    setStates(read());
    const stops = runs.map(({ history }) => history.onState(() => setStates(read())));
    return () => {
      for (const stop of stops) stop();
    };
  }, [name, key, group]);
  return states;
}

function Lines({ name, runs, group, view, onZoom }: ComparePanelProps) {
  const [showsTable, setShowsTable] = useState(false);
  const key = runs.map(({ id, label }) => `${id} ${label}`).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` names the runs, which are new objects each time
  const lines = useMemo(
    () =>
      runs.map(
        ({ history, label, series }): PlotLine => ({
          track: history.want(name, COMPARE_POINTS),
          kind: "line",
          side: "left",
          label,
          series,
          isStepped: name === BATCH_SIZE,
        }),
      ),
    [name, key, group],
  );
  const config = useMemo((): PlotConfig => {
    const isFraction = name.endsWith("_frac");
    const axis = {
      ...PLAIN_AXIS,
      fromZero: isFraction || name === BATCH_SIZE,
      percent: isFraction,
      bytes: name.endsWith("_bytes"),
    };
    return { lines, left: axis, right: null, view, labelsOld: false };
  }, [lines, name, view]);
  return (
    <Chart
      group={group}
      config={config}
      label={name}
      className={styles.plot}
      showsTable={showsTable}
      onToggleTable={() => setShowsTable(!showsTable)}
      onZoom={onZoom}
      onOpenStep={() => {}}
    />
  );
}

function isFailed(history: RunHistory, name: string): boolean {
  const track = history.known(name, COMPARE_POINTS);
  return track !== null && history.stateOf(track).kind === "failed";
}

/** What the picture lacks: a run, or points. The sparsest drawing counts. */
function SampledNote({ name, runs }: ComparePanelProps) {
  const text = useSyncExternalStore(
    (listener) => {
      const stops = runs.map(({ history }) => history.onState(listener));
      return () => {
        for (const stop of stops) stop();
      };
    },
    () => {
      const counts = runs.flatMap(({ history }) => {
        const track = history.known(name, COMPARE_POINTS);
        return (track && sampledCounts(track)) ?? [];
      });
      const most = counts.sort((a, b) => b.total - a.total)[0];
      const numFailed = runs.filter(({ history }) => isFailed(history, name)).length;
      // With none there the panel itself says so.
      if (numFailed > 0 && numFailed < runs.length) return `${formatCount(numFailed, "run")} did not load`;
      return most ? `sampled: ${formatInteger(most.shown)} of ${formatInteger(most.total)}` : "";
    },
  );
  return <span className={styles.note}>{text}</span>;
}
