/** A plot with all that is not drawn: size, keys, the sentence for screen readers, and the table behind it. */
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import { classNames } from "@/lib/class-names";
import { formatCount } from "@/lib/numbers";
import styles from "./chart.module.css";
import type { ChartGroup, XRange } from "./chart-group";
import { ChartTable } from "./chart-table";
import { Plot, type PlotStatus } from "./plot";
import type { PlotConfig } from "./plot-config";
import { readingNear, readingText, stepsText, trackSentence } from "./readings";
import { xInWords } from "./x-labels";

export interface ChartProps {
  group: ChartGroup;
  config: PlotConfig;
  /** The accessible name, before the made sentence: "Batch size and loss". */
  label: string;
  /** Sets the plot's height, `--plot-height`. */
  className?: string | undefined;
  showsTable: boolean;
  onToggleTable: () => void;
  onZoom: (range: XRange | null) => void;
  /** A click or Enter on a point, by its first step. */
  onOpenStep: (step: number) => void;
  /** Called when one of the numbers changes, not with every point. */
  onStatus?: (status: PlotStatus) => void;
}

export function Chart(props: ChartProps) {
  const { group, config, label, className, showsTable } = props;
  const root = useRef<HTMLDivElement>(null);
  const spoken = useRef<HTMLDivElement>(null);
  const [status, setStatus] = useState<PlotStatus>({ hidden: 0, points: 0, hasFinite: true });
  const plot = usePlot(root, props, (next) => {
    setStatus((old) => (sameStatus(old, next) ? old : next));
    props.onStatus?.(next);
  });

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = keyAction(event, plot.current, props);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
    if (spoken.current) spoken.current.textContent = cursorSentence(group, config);
  };

  useReturnedFocus(root, showsTable);

  if (showsTable) {
    return (
      <ChartTable
        config={config}
        group={group}
        label={label}
        onClose={props.onToggleTable}
        className={className}
      />
    );
  }
  return (
    <div className={classNames(styles.chart, className)}>
      <div
        ref={root}
        className={styles.plot}
        role="img"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the cursor through the picture
        tabIndex={0}
        onKeyDown={onKeyDown}
        onFocus={(event) => event.currentTarget.setAttribute("aria-label", sentence(config, label))}
        onBlur={() => plot.current?.moveTo(null)}
        aria-label={label}
      />
      <div ref={spoken} className="sr-only" aria-live="polite" />
      {status.points > 0 && !status.hasFinite && (
        <p className={styles.nothing} data-upper={config.right !== null || undefined}>
          No finite value in {formatCount(status.points, "point")}
        </p>
      )}
    </div>
  );
}

/** Who came back from the table by key is where they were before. */
function useReturnedFocus(root: React.RefObject<HTMLDivElement | null>, showsTable: boolean): void {
  const wasTable = useRef(showsTable);
  useEffect(() => {
    if (wasTable.current && !showsTable) root.current?.focus();
    wasTable.current = showsTable;
  }, [root, showsTable]);
}

function sameStatus(a: PlotStatus, b: PlotStatus): boolean {
  // The count of points only matters where no value is finite.
  return a.hidden === b.hidden && a.hasFinite === b.hasFinite && (a.hasFinite || a.points === b.points);
}

function sentence(config: PlotConfig, label: string): string {
  return `${label}. ${config.lines.map((line) => trackSentence(line.track, line.label, config.isOverTime)).join(" ")}`;
}

function cursorSentence(group: ChartGroup, config: PlotConfig): string {
  const x = group.cursor;
  const first = config.lines[0];
  const at = first && x !== null ? readingNear(first.track, x) : null;
  if (!at) return "";
  const values = config.lines.map(
    ({ track, label }) => `${label} ${readingText(track.name, readingNear(track, x))}`,
  );
  const where = config.isOverTime ? xInWords(group.xKind, at.x, new Date()) : stepsText(at);
  return `${where}: ${values.join(", ")}`;
}

function keyAction(event: KeyboardEvent, plot: Plot | null, props: ChartProps): (() => void) | null {
  const far = event.shiftKey ? 10 : 1;
  switch (event.key) {
    case "ArrowLeft":
      return () => plot?.moveBy(-far);
    case "ArrowRight":
      return () => plot?.moveBy(far);
    case "Home":
      return () => plot?.moveBy(Number.NEGATIVE_INFINITY);
    case "End":
      return () => plot?.moveBy(Number.POSITIVE_INFINITY);
    case "Escape":
      return () => plot?.moveTo(null);
    case "t":
      return () => {
        plot?.moveTo(null);
        props.onToggleTable();
      };
    case "Enter":
      return () => openAtCursor(props);
    default:
      return null;
  }
}

function openAtCursor({ group, config, onOpenStep }: ChartProps): void {
  const track = config.lines[0]?.track;
  const reading = track && group.cursor !== null ? readingNear(track, group.cursor) : null;
  if (reading) onOpenStep(reading.step);
}

/** Makes the plot, keeps its size and settings, and ends it. */
function usePlot(
  root: React.RefObject<HTMLDivElement | null>,
  props: ChartProps,
  onDrawn: (status: PlotStatus) => void,
): React.RefObject<Plot | null> {
  const plot = useRef<Plot | null>(null);
  const latest = useRef({ props, onDrawn });
  useLayoutEffect(() => {
    latest.current = { props, onDrawn };
  });
  const { group, config, showsTable } = props;

  useEffect(() => {
    const element = root.current;
    if (!element || showsTable) return;
    const made = new Plot(element, group, latest.current.props.config, {
      onZoom: (range) => latest.current.props.onZoom(range),
      onChoose: () => openAtCursor(latest.current.props),
      onDrawn: (status) => latest.current.onDrawn(status),
    });
    plot.current = made;
    const sizes = new ResizeObserver(([entry]) => {
      if (entry) made.resize(Math.floor(entry.contentRect.width), Math.floor(entry.contentRect.height));
    });
    const views = new IntersectionObserver(([entry]) => {
      made.isVisible = entry?.isIntersecting ?? true;
      if (made.isVisible) group.invalidate(made);
    });
    sizes.observe(element);
    views.observe(element);
    return () => {
      sizes.disconnect();
      views.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [group, showsTable, root]);

  useEffect(() => {
    plot.current?.setConfig(config);
  }, [config]);
  return plot;
}
