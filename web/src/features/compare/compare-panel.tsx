/** One metric of all runs over one another. */
import { useId, useMemo, useState, useSyncExternalStore } from "react";
import { IconButton } from "@/components/button";
import { Chart } from "@/components/chart/chart";
import type { ChartGroup, XRange } from "@/components/chart/chart-group";
import { BATCH_SIZE } from "@/components/chart/metric-names";
import { sampledCounts } from "@/components/chart/metric-track";
import { PLAIN_AXIS, type PlotConfig, type PlotLine, type PlotView } from "@/components/chart/plot-config";
import { WhenNear } from "@/components/chart/when-near";
import { formatInteger } from "@/lib/numbers";
import styles from "./compare.module.css";
import { COMPARE_POINTS, type ComparedRun } from "./use-compared";

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

function Plotted({ name, runs, group, view, onZoom }: ComparePanelProps) {
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
    const axis = { ...PLAIN_AXIS, fromZero: isFraction || name === BATCH_SIZE, percent: isFraction };
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

/** The sparsest drawing counts. */
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
      return most ? `sampled: ${formatInteger(most.shown)} of ${formatInteger(most.total)}` : "";
    },
  );
  return <span className={styles.note}>{text}</span>;
}
