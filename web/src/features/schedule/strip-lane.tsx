/** One lane of the strip: a value of every step, painted on a canvas in place while the run grows. */
import { useEffect, useRef } from "react";
import type { MetricTrack } from "@/components/chart/metric-track";
import { withAlpha } from "@/components/chart/paint";
import { type ChartTheme, chartTheme, onThemeChange } from "@/components/chart/theme";
import styles from "./step-strip.module.css";
import { type StripColumn, stripColumns } from "./strip-columns";

export type LaneKind = "batch" | "strong" | "faint";

export interface StripLaneProps {
  track: MetricTrack;
  kind: LaneKind;
  /** The value that fills the lane where none is larger: little, everywhere, is still little. */
  full: number;
  /** Number of steps on the axis. */
  numSteps: () => number;
}

/** A single odd step among thousands must be seen. */
const LEAST_BAR_PX = 2;
/** Bars of a run that has just begun are no walls. */
const MOST_BAR_PX = 20;
const OPACITY: Record<LaneKind, number> = { batch: 0.17, strong: 0.72, faint: 0.34 };

export function StripLane({ track, kind, full, numSteps }: StripLaneProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    let frame = 0;
    const paint = () => {
      frame = 0;
      paintLane(element, stripColumns(track), { kind, full, numSteps: numSteps() });
    };
    const later = () => {
      if (frame === 0) frame = requestAnimationFrame(paint);
    };
    const sizes = new ResizeObserver(later);
    sizes.observe(element);
    const stops = [track.onChange(later), onThemeChange(later), () => sizes.disconnect()];
    return () => {
      cancelAnimationFrame(frame);
      for (const stop of stops) stop();
    };
  }, [track, kind, full, numSteps]);
  return <canvas ref={canvas} className={styles.canvas} />;
}

function paintLane(
  canvas: HTMLCanvasElement,
  columns: readonly StripColumn[],
  { kind, full, numSteps }: { kind: LaneKind; full: number; numSteps: number },
): void {
  const ratio = window.devicePixelRatio;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  canvas.width = width;
  canvas.height = height;
  const ctx = canvas.getContext("2d");
  const most = columns.reduce((highest, column) => Math.max(highest, column.most), full);
  if (!ctx || most <= 0 || numSteps < 1) return;
  const x = (step: number) => (step / numSteps) * width;
  // One pixel stays free, so that the line of the largest value is whole.
  const y = (value: number) => height - (value / most) * (height - ratio);
  if (kind === "batch") paintArea(ctx, columns, { x, y, height, ratio }, chartTheme());
  else {
    ctx.fillStyle = withAlpha(chartTheme().metric, OPACITY[kind]);
    for (const { step, lastStep, most: value } of columns) {
      const slot = x(lastStep + 1) - x(step);
      const wide = Math.min(MOST_BAR_PX * ratio, Math.max(LEAST_BAR_PX * ratio, slot));
      const left = x(step) + Math.max(0, (slot - wide) / 2);
      if (value > 0) ctx.fillRect(left, y(value), wide, height - y(value));
    }
  }
}

interface Scale {
  x: (step: number) => number;
  y: (value: number) => number;
  height: number;
  ratio: number;
}

function paintArea(
  ctx: CanvasRenderingContext2D,
  columns: readonly StripColumn[],
  { x, y, height, ratio }: Scale,
  theme: ChartTheme,
): void {
  const line = new Path2D();
  columns.forEach(({ step, lastStep, most }, i) => {
    if (i === 0) line.moveTo(x(step), y(most));
    line.lineTo(x(step), y(most));
    line.lineTo(x(lastStep + 1), y(most));
  });
  const [first, last] = [columns[0], columns[columns.length - 1]];
  if (!first || !last) return;
  const area = new Path2D(line);
  area.lineTo(x(last.lastStep + 1), height);
  area.lineTo(x(first.step), height);
  ctx.fillStyle = withAlpha(theme.batch, OPACITY.batch);
  ctx.fill(area);
  ctx.strokeStyle = theme.batch;
  ctx.lineWidth = 1.1 * ratio;
  ctx.stroke(line);
}
