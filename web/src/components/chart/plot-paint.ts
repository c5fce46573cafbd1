/** What a plot paints itself: below the lines grid, labels, old attempts and bands; above them marks, lone points and
 * the live edge. Called by uPlot's hooks; in canvas pixels. */
import uPlot from "uplot";
import { formatBytes } from "@/lib/bytes";
import type { ChartGroup } from "./chart-group";
import { endOf } from "./domain";
import { type EndLabel, paintNames, placed } from "./end-labels";
import type { MetricTrack } from "./metric-track";
import {
  clipped,
  paintBand,
  paintDot,
  paintGrid,
  paintMark,
  paintOldField,
  paintOldLine,
  paintXLabels,
  paintYLabels,
  type Surface,
  spacedMarks,
  withAlpha,
} from "./paint";
import {
  axisOf,
  holds,
  isLog,
  type LineKind,
  type PlotAxis,
  type PlotConfig,
  type PlotLine,
  type Side,
} from "./plot-config";
import { type Column, colourOf } from "./plot-series";
import { type Cell, lonePoints, positiveOnly } from "./series-math";
import { chartTheme, seriesStyle } from "./theme";
import { byteLabels, logLabels, valueLabels } from "./tick-labels";
import type { Axis } from "./ticks";
import { xLabels } from "./x-labels";

/** A plot as it stands when uPlot draws it. */
export interface Scene {
  u: uPlot;
  group: ChartGroup;
  config: PlotConfig;
  columns: readonly Column[];
  axes: Readonly<Record<Side, Axis | null>>;
}

const BAND: Record<LineKind, number> = { line: 0.1, area: 0.2, floor: 0 };
const OLD: Record<LineKind, number> = { line: 0.38, area: 0.55, floor: 0.38 };
/** Narrower plots have no room for the label of an old attempt; the legend has it. */
const OLD_LABEL_PX = 480;
/** Distance of two labels of the x axis, at least. */
const X_LABEL_PX = 78;
/** Distance of two marks: nearer ones would lie on each other. */
const MARK_PX = 9;
/** Distance of two names at the ends of lines. */
const NAME_PX = 13;
/** Marks and dots at the edge of the plot are drawn whole. */
const BLEED_PX = 5;

/** uPlot remembers the context's state: what is changed here is put back. */
export function paint(scene: Scene, layer: "below" | "above"): void {
  const { ctx, bbox } = scene.u;
  const surface: Surface = {
    ctx,
    theme: chartTheme(),
    ratio: uPlot.pxRatio,
    left: bbox.left,
    top: bbox.top,
    width: bbox.width,
    height: bbox.height,
    xOf: (x) => scene.u.valToPos(x, "x", true),
    yOf: (y) => scene.u.valToPos(y, "left", true),
  };
  ctx.save();
  // A series may have left its dash: marks and names are drawn whole.
  ctx.setLineDash([]);
  if (layer === "below") paintBelow(scene, surface);
  else paintAbove(scene, surface);
  ctx.restore();
}

function paintBelow(scene: Scene, surface: Surface): void {
  paintYAxes(scene, surface);
  paintXAxis(scene, surface);
  const { view, lines } = scene.config;
  clipped(surface, () => {
    if (view.old) paintOld(scene, surface);
    if (view.bands) for (const line of lines) paintLineBand(scene, surface, line);
  });
}

function paintYAxes({ u, config, axes }: Scene, surface: Surface): void {
  for (const side of ["left", "right"] as const) {
    const axis = axes[side];
    if (!axis || !config.lines.some((line) => line.side === side)) continue;
    const texts = labelsOf(axis, axisOf(config, side), isLog(config, side));
    const ys = axis.ticks.map((tick) => u.valToPos(tick, side, true));
    if (!config.left.part) paintGrid(surface, ys);
    const labels = ys.map((y, i) => ({ y, text: texts[i] ?? "" }));
    paintYLabels(surface, labels, side);
  }
  const rows = config.left.part?.rows;
  if (!rows) return;
  const { top, height } = surface;
  paintGrid(
    surface,
    Array.from({ length: rows + 1 }, (_, i) => top + (height * i) / rows),
  );
}

function labelsOf({ ticks }: Axis, { percent, bytes }: PlotAxis, log: boolean): string[] {
  if (bytes) return log ? ticks.map(formatBytes) : byteLabels(ticks);
  return log ? logLabels(ticks, percent) : valueLabels(ticks, percent);
}

function paintXAxis({ group }: Scene, surface: Surface): void {
  const most = Math.max(2, Math.floor(surface.width / surface.ratio / X_LABEL_PX));
  const labels = xLabels(group.xKind, group.range(), most, new Date());
  paintXLabels(
    surface,
    labels.map(({ x, text }) => ({ x: surface.xOf(x), text })),
  );
}

function paintLineBand(scene: Scene, surface: Surface, line: PlotLine): void {
  if (BAND[line.kind] === 0) return;
  const { x, low, high } = line.track.drawn;
  const log = isLog(scene.config, line.side);
  const columns = log
    ? { x, low: positiveOnly(low).values, high: positiveOnly(high).values }
    : { x, low, high };
  const colour = withAlpha(colourOf(line, surface.theme), BAND[line.kind]);
  paintBand(on(scene.u, surface, line), columns, colour, line.kind === "area");
}

function paintOld({ u, config }: Scene, surface: Surface): void {
  if (config.labelsOld) paintOldFields(config, surface);
  for (const line of config.lines) {
    const colour = withAlpha(colourOf(line, surface.theme), OLD[line.kind]);
    for (const { columns } of line.track.old) {
      const values = isLog(config, line.side) ? positiveOnly(columns.value).values : columns.value;
      paintOldLine(on(u, surface, line), columns.x, values, colour, line.kind === "area");
    }
  }
}

/** One field per attempt, from where the next one took over. Every step has a value of the first line. */
function paintOldFields(config: PlotConfig, surface: Surface): void {
  const hasRoom = surface.width / surface.ratio > OLD_LABEL_PX;
  for (const { attempt, columns } of config.lines[0]?.track.old ?? []) {
    const [from, to, step] = [columns.x[0], columns.x[columns.x.length - 1], columns.step[0]];
    if (from === undefined || to === undefined || step === undefined) continue;
    const label = `attempt ${attempt}, superseded from ${step.toLocaleString("en-US")}`;
    paintOldField(surface, from, to, hasRoom ? label : null);
  }
}

function paintAbove(scene: Scene, surface: Surface): void {
  const { config, columns, group } = scene;
  clipped(wider(surface), () => {
    columns.forEach((column, k) => {
      if (!column.smoothed) paintLone(scene, surface, column.line, k + 1);
    });
    for (const { kind, track } of config.lines) if (kind !== "floor") paintMarks(scene, surface, track);
  });
  paintEndLabels(scene, surface);
  if (!group.isLive || !group.followsNewest) return;
  for (const line of config.lines) if (line.kind !== "floor") paintLiveEdge(scene, surface, line);
}

function wider(surface: Surface): Surface {
  const bleed = BLEED_PX * surface.ratio;
  const { left, top, width, height } = surface;
  return {
    ...surface,
    left: left - bleed,
    top: top - bleed,
    width: width + 2 * bleed,
    height: height + 2 * bleed,
  };
}

/** A point between two gaps: a line through it would be invisible. */
function paintLone({ u }: Scene, surface: Surface, line: PlotLine, series: number): void {
  if (line.kind === "floor") return;
  const values: Cell[] = Array.from(u.data[series] ?? []);
  const { yOf, xOf } = on(u, surface, line);
  for (const i of lonePoints(values)) {
    const value = values[i];
    const x = u.data[0][i];
    if (value == null || x === undefined) continue;
    paintDot(surface, xOf(x), yOf(value), 3, colourOf(line, surface.theme), false);
  }
}

function paintMarks({ group }: Scene, surface: Surface, track: MetricTrack): void {
  const { from, to } = group.range();
  const inside = track.marks.filter(({ x }) => x >= from && x <= to);
  for (const mark of spacedMarks(inside, surface.xOf, MARK_PX * surface.ratio)) {
    paintMark(surface, surface.xOf(mark.x), mark.kind);
  }
}

function paintLiveEdge({ u, group }: Scene, surface: Surface, line: PlotLine): void {
  const { columns } = line.track;
  const last = columns.value[columns.value.length - 1];
  const newest = columns.x[columns.x.length - 1];
  if (last === null || last === undefined || newest === undefined) return;
  const x = holds(line) ? endOf(columns, group.xKind) : newest;
  const { xOf, yOf } = on(u, surface, line);
  paintDot(surface, xOf(x ?? newest), yOf(last), 6, colourOf(line, surface.theme), true);
}

/** The names of compared runs at the ends of their lines. */
function paintEndLabels({ u, config, group }: Scene, surface: Surface): void {
  const { to } = group.range();
  const names = config.lines.flatMap((line): EndLabel[] => {
    const { x, value } = line.track.drawn;
    const last = x.findLastIndex((at, i) => at <= to && value[i] != null);
    if (line.series === undefined || last < 0) return [];
    const { xOf, yOf } = on(u, surface, line);
    return [
      {
        text: line.label,
        colour: seriesStyle(surface.theme, line.series).text,
        x: xOf(x[last] as number),
        y: yOf(value[last] as number),
      },
    ];
  });
  const { top, height, left, width, ratio } = surface;
  const room = { top, bottom: top + height, right: left + width, distance: NAME_PX * ratio };
  paintNames(surface, placed(names, room));
}

/** The surface with the y scale of a line. */
function on(u: uPlot, surface: Surface, line: PlotLine): Surface {
  return { ...surface, yOf: (y) => u.valToPos(y, line.side, true) };
}
