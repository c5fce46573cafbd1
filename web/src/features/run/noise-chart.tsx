/** The gradient's noise scale over the batch size, both in samples: how large a step pays, beside how large it was. */
import { useMemo, useState } from "react";
import { Chart } from "@/components/chart/chart";
import type { XRange } from "@/components/chart/chart-group";
import { CursorValue } from "@/components/chart/cursor-value";
import { BATCH_SIZE, NOISE_SCALE } from "@/components/chart/metric-names";
import { NonFiniteMarks } from "@/components/chart/non-finite-marks";
import type { PlotConfig, PlotView } from "@/components/chart/plot-config";
import type { Reading } from "@/components/chart/readings";
import { HERO_POINTS, type RunCharts } from "@/components/chart/use-run-charts";
import { formatInteger } from "@/lib/numbers";
import styles from "./hero.module.css";
import { metricText } from "./metric-text";
import { useTrackFacts } from "./use-track-facts";

export interface NoiseChartProps {
  charts: RunCharts;
  view: PlotView;
  onZoom: (range: XRange | null) => void;
  onOpenStep: (step: number) => void;
}

const SAMPLES_AXIS = { fromZero: true, percent: false, integer: false, canBeLog: true };

export function NoiseChart({ charts, view, onZoom, onOpenStep }: NoiseChartProps) {
  const { history, group, batch } = charts;
  const noise = useMemo(() => history.want(NOISE_SCALE, HERO_POINTS), [history]);
  const [showsTable, setShowsTable] = useState(false);
  const [hidden, setHidden] = useState(0);
  const facts = useTrackFacts(noise);
  const config = useMemo(
    (): PlotConfig => ({
      lines: [
        { track: batch, kind: "area", side: "left", label: "Batch size" },
        { track: noise, kind: "line", side: "left", label: "Noise scale" },
      ],
      left: SAMPLES_AXIS,
      right: null,
      view,
      labelsOld: false,
    }),
    [batch, noise, view],
  );
  return (
    <section className={styles.hero} aria-labelledby="noise-title">
      <div className={styles.head}>
        <h2 id="noise-title">Noise scale and batch size</h2>
        <div className={styles.legend}>
          <span>
            <i className={styles.keyArea} />
            {BATCH_SIZE}
          </span>
          <span>
            <i className={styles.keyLine} />
            {NOISE_SCALE}{" "}
            <CursorValue group={group} track={noise} format={noiseText} className={styles.legendValue} />
          </span>
          <NonFiniteMarks counts={facts.nonFinite} />
          {hidden > 0 && <span>log: {formatInteger(hidden)} points ≤ 0 hidden</span>}
        </div>
        <span className={styles.note}>{facts.sampled ?? "both in samples"}</span>
      </div>
      <Chart
        group={group}
        config={config}
        label="Noise scale and batch size"
        className={styles.noisePlot}
        showsTable={showsTable}
        onToggleTable={() => setShowsTable(!showsTable)}
        onZoom={onZoom}
        onOpenStep={onOpenStep}
        onStatus={(status) => setHidden(status.hidden)}
      />
    </section>
  );
}

function noiseText(reading: Reading): string {
  return metricText(NOISE_SCALE, reading.value);
}
