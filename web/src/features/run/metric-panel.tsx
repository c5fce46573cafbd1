/** One metric: its name, the value under the cursor, and its line. */
import { useCallback, useId, useMemo, useState } from "react";
import { problemSentence } from "@/api/problem";
import { Button, IconButton } from "@/components/button";
import { Chart } from "@/components/chart/chart";
import type { XRange } from "@/components/chart/chart-group";
import { CursorValue } from "@/components/chart/cursor-value";
import { IDLE, IDLE_BOUND } from "@/components/chart/metric-names";
import { NonFiniteMarks } from "@/components/chart/non-finite-marks";
import { PLAIN_AXIS, type PlotConfig, type PlotLine, type PlotView } from "@/components/chart/plot-config";
import type { Reading } from "@/components/chart/readings";
import { type RunCharts, useTrackState } from "@/components/chart/use-run-charts";
import { WhenNear } from "@/components/chart/when-near";
import { formatInteger } from "@/lib/numbers";
import styles from "./metric-panel.module.css";
import { isFraction, isSize, metricText, startsAtZero } from "./metric-text";
import { useTrackFacts } from "./use-track-facts";

/** About one point for each pixel and a half of the widest panel. */
export const PANEL_POINTS = 300;

export interface MetricPanelProps {
  name: string;
  charts: RunCharts;
  view: PlotView;
  onZoom: (range: XRange | null) => void;
  onOpenStep: (step: number) => void;
  pinning: Pinning;
}

/** What the reader does with the order of the panels. */
export interface Pinning {
  isPinned: (name: string) => boolean;
  onPin: (name: string) => void;
  onMove: (name: string, by: 1 | -1) => void;
}

export function MetricPanel(props: MetricPanelProps) {
  const title = useId();
  const slash = props.name.indexOf("/") + 1;
  return (
    <section className={styles.panel} aria-labelledby={title}>
      <WhenNear className={styles.place}>
        <PanelContent {...props}>
          <h3 id={title} className={styles.name} title={props.name}>
            {slash > 0 && <span className={styles.prefix}>{props.name.slice(0, slash)}</span>}
            {props.name.slice(slash)}
          </h3>
        </PanelContent>
      </WhenNear>
    </section>
  );
}

function PanelContent(props: MetricPanelProps & { children: React.ReactNode }) {
  const { name, charts, view, children } = props;
  const { history, group } = charts;
  const lines = usePanelLines(name, charts);
  const track = (lines[0] as PlotLine).track;
  const [showsTable, setShowsTable] = useState(false);
  const [hidden, setHidden] = useState(0);
  const state = useTrackState(history, track);
  const facts = useTrackFacts(track);
  const format = useCallback((reading: Reading) => metricText(name, reading.value), [name]);
  const config = useMemo((): PlotConfig => {
    const axis = {
      ...PLAIN_AXIS,
      fromZero: startsAtZero(name),
      percent: isFraction(name),
      bytes: isSize(name),
    };
    return { lines, left: axis, right: null, view, labelsOld: false };
  }, [name, lines, view]);
  return (
    <>
      <div className={styles.head}>
        {children}
        {lines.length > 1 && (
          <span className={styles.bound} title="lower bound">
            <i className={styles.keyBound} />
            lower bound
          </span>
        )}
        {hidden > 0 && <span className={styles.note}>log: {formatInteger(hidden)} points ≤ 0 hidden</span>}
        <NonFiniteMarks counts={facts.nonFinite} />
        <PinActions name={name} pinning={props.pinning} />
        <CursorValue group={group} track={track} format={format} className={styles.value} />
      </div>
      {state.kind === "failed" ? (
        <div className={styles.failed}>
          <p>This chart did not load. {problemSentence(state.error)}</p>
          <Button onClick={() => history.retry(track)}>Try now</Button>
        </div>
      ) : (
        <Chart
          group={group}
          config={config}
          label={name}
          className={styles.plot}
          showsTable={showsTable}
          onToggleTable={() => setShowsTable(!showsTable)}
          onZoom={props.onZoom}
          onOpenStep={props.onOpenStep}
          onStatus={(status) => setHidden(status.hidden)}
        />
      )}
    </>
  );
}

/** Seen while the panel is under the pointer or holds the focus. */
function PinActions({ name, pinning }: Pick<MetricPanelProps, "name" | "pinning">) {
  const isPinned = pinning.isPinned(name);
  return (
    <span className={styles.actions}>
      {isPinned && (
        <>
          <IconButton icon="left" label={`Move ${name} forward`} onClick={() => pinning.onMove(name, -1)} />
          <IconButton icon="right" label={`Move ${name} back`} onClick={() => pinning.onMove(name, 1)} />
        </>
      )}
      <IconButton
        icon="pin"
        label={isPinned ? `Unpin ${name}` : `Pin ${name}`}
        aria-pressed={isPinned}
        onClick={() => pinning.onPin(name)}
      />
    </span>
  );
}

/** Idle time stands on its lower bound; every other metric stands alone. */
function usePanelLines(name: string, { history }: RunCharts): PlotLine[] {
  return useMemo(() => {
    const main: PlotLine = {
      track: history.want(name, PANEL_POINTS),
      kind: "line",
      side: "left",
      label: name,
    };
    if (name !== IDLE) return [main];
    const bound = history.want(IDLE_BOUND, PANEL_POINTS);
    return [main, { track: bound, kind: "floor", side: "left", label: "lower bound" }];
  }, [name, history]);
}
