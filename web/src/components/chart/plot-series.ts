/** How uPlot draws each column of a plot: what stays while it is shown, and the pen of the moment. */
import uPlot from "uplot";
import { withAlpha } from "./paint";
import { holds, type LineKind, type PlotLine } from "./plot-config";
import { type ChartTheme, seriesStyle } from "./theme";

/** A column of the plot's data: a line as it is, or smoothed. */
export interface Column {
  line: PlotLine;
  smoothed: boolean;
}

const FILL: Record<LineKind, number> = { line: 0, area: 0.17, floor: 0.22 };
const WIDTH: Record<LineKind, number> = { line: 1.5, area: 1.1, floor: 0 };
const RAW_UNDER_SMOOTH = 0.3;

export function colourOf({ kind, series }: Pick<PlotLine, "kind" | "series">, theme: ChartTheme): string {
  if (series !== undefined) return seriesStyle(theme, series).line;
  return kind === "area" ? theme.batch : kind === "floor" ? theme.bound : theme.metric;
}

export function seriesOf({ line, smoothed }: Column, theme: ChartTheme, hasSmooth: boolean): uPlot.Series {
  const colour = colourOf(line, theme);
  const isFaint = hasSmooth && !smoothed && line.kind === "line";
  const fill = FILL[line.kind];
  // A batch size holds from its step to the next: it is never drawn as if it slid.
  const stepped = holds(line) ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  return {
    scale: line.side,
    auto: false,
    spanGaps: false,
    points: { show: false },
    ...(WIDTH[line.kind] > 0 && { stroke: isFaint ? withAlpha(colour, RAW_UNDER_SMOOTH) : colour }),
    ...(fill > 0 && { fill: withAlpha(colour, fill), fillTo: (u: uPlot) => u.scales[line.side]?.min ?? 0 }),
    ...(stepped && { paths: stepped }),
  };
}

/** How the lines are drawn this time. Where they are ragged, a stroke wider than a pixel costs a browser without a
 * graphics card fifty times a thin one, and dashes four times; dashes of a line that moves would crawl along it. */
export interface Look {
  /** They go up and down so often that thin lines tell more. */
  ragged: boolean;
  moving: boolean;
}

export type Pen = Required<Pick<uPlot.Series, "width" | "dash">>;

export function penOf({ line }: Column, theme: ChartTheme, { ragged, moving }: Look): Pen {
  const width = ragged ? Math.min(1, WIDTH[line.kind]) : WIDTH[line.kind];
  const dash = line.series === undefined || moving ? [] : seriesStyle(theme, line.series).dash;
  return { width, dash };
}

/** The nearest index with a value or a gap; `undefined` entries belong to other lines. */
export function nearestMeasured(values: ArrayLike<number | null | undefined>, index: number): number {
  for (let distance = 0; distance < values.length; distance++) {
    if (values[index - distance] !== undefined) return index - distance;
    if (values[index + distance] !== undefined) return index + distance;
  }
  return index;
}

export function dotElement(): HTMLElement {
  const dot = document.createElement("div");
  dot.style.borderWidth = "2px";
  return dot;
}

/** uPlot's own third argument, which tells the other charts of the group, is missing in its types. */
export function setCursor(u: uPlot, left: number, tell: { fire: boolean; publish: boolean }): void {
  const set: (at: { left: number; top: number }, fire: boolean, publish: boolean) => void = u.setCursor;
  set({ left, top: left < 0 ? -10 : 10 }, tell.fire, tell.publish);
}
