/** One figure over time: a line for the machine, or one for each process or GPU. */
import { useCallback, useEffect, useId, useMemo, useState } from "react";
import { Chart } from "@/components/chart/chart";
import type { ChartGroup, XRange } from "@/components/chart/chart-group";
import { CursorValue } from "@/components/chart/cursor-value";
import { MetricTrack } from "@/components/chart/metric-track";
import { PLAIN_AXIS, type PlotConfig, type PlotView } from "@/components/chart/plot-config";
import type { Reading } from "@/components/chart/readings";
import { WhenNear } from "@/components/chart/when-near";
import { LoadingBars } from "@/components/loading-bars";
import { formatInteger } from "@/lib/numbers";
import styles from "./system.module.css";
import type { SystemPanelData } from "./system-panels";

const LOADING_ROWS = 4;
const VIEW: PlotView = { log: false, bands: true, old: false, smoothing: 0 };

interface SystemPanelProps {
  panel: SystemPanelData;
  group: ChartGroup;
  onZoom: (range: XRange | null) => void;
}

export function SystemPanel({ panel, group, onZoom }: SystemPanelProps) {
  const title = useId();
  const [showsTable, setShowsTable] = useState(false);
  const { config, first } = useConfig(panel);
  const { format } = panel;
  const text = useCallback(
    ({ value }: Reading) => format(typeof value === "number" ? value : null),
    [format],
  );
  return (
    <section className={styles.panel} aria-labelledby={title}>
      <div className={styles.head}>
        <h2 id={title}>{panel.title}</h2>
        <span className={styles.note}>
          {panel.bound}
          {panel.numHidden > 0 && ` the busiest of ${formatInteger(panel.numHidden + panel.lines.length)}`}
        </span>
        {panel.lines.length === 1 && (
          <CursorValue group={group} track={first} format={text} className={styles.value} />
        )}
      </div>
      <WhenNear className={styles.plot}>
        <Chart
          group={group}
          config={config}
          label={panel.title}
          className={styles.plot}
          showsTable={showsTable}
          onToggleTable={() => setShowsTable(!showsTable)}
          onZoom={onZoom}
          onOpenStep={() => {}}
        />
      </WhenNear>
    </section>
  );
}

interface LoadingPanelProps {
  title: string;
  /** Whether it speaks for all that wait. */
  hasWords: boolean;
  onRetry: () => void;
}

/** As high as the panel that comes. */
export function LoadingPanel({ title, hasWords, onRetry }: LoadingPanelProps) {
  return (
    <section className={styles.panel} aria-label={title}>
      <div className={styles.head}>
        <h2>{title}</h2>
      </div>
      <div className={styles.plot}>
        <LoadingBars rows={LOADING_ROWS} hasWords={hasWords} onRetry={onRetry} />
      </div>
    </section>
  );
}

/** Tracks stay while their lines are the same, so that a chart only appends and never blinks. */
function useConfig({ figure, lines, isPercent }: SystemPanelData): {
  config: PlotConfig;
  first: MetricTrack;
} {
  const names = lines.map(({ of }) => of).join("\n");
  const tracks = useMemo(
    () =>
      names.split("\n").map((of) => ({ of, track: new MetricTrack(isPercent ? `${figure}_frac` : figure) })),
    [names, figure, isPercent],
  );
  useEffect(() => {
    lines.forEach(({ series }, i) => {
      tracks[i]?.track.setHistory([series]);
    });
  }, [lines, tracks]);
  const config = useMemo((): PlotConfig => {
    const hasNames = tracks.length > 1 || tracks[0]?.of !== "";
    return {
      lines: tracks.map(({ of, track }, i) => ({
        track,
        kind: "line" as const,
        side: "left" as const,
        label: of || figure,
        ...(hasNames && { series: i }),
      })),
      left: { ...PLAIN_AXIS, fromZero: true, percent: isPercent, bytes: figure.endsWith("_bytes") },
      right: null,
      view: VIEW,
      labelsOld: false,
      isOverTime: true,
    };
  }, [tracks, figure, isPercent]);
  return { config, first: tracks[0]?.track ?? new MetricTrack(figure) };
}
