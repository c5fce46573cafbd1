/** The y axes of one plot over time: they grow with the data until another range or kind of axis is asked for. */
import type { ChartGroup, XRange } from "./chart-group";
import { axisOf, isLog, type PlotConfig, type PlotLine, type Side } from "./plot-config";
import { wayOf } from "./plot-data";
import { plotEnds } from "./plot-scale";
import { type Extent, extent, union } from "./series-math";
import type { Axis } from "./ticks";
import { growAxis } from "./y-range";

const NOTHING: Extent = { low: null, high: null };

export class PlotAxes {
  /** Null: no line is on that side. */
  bySide: Record<Side, Axis | null> = { left: null, right: null };
  private isPlaceholder: Record<Side, boolean> = { left: true, right: true };
  private madeFor = "";

  update(config: PlotConfig, group: ChartGroup): void {
    const range = group.range();
    // Another range or kind of axis is another picture: what grew before does not bind it. Under a hand that moves, the
    // axis only grows: it would jump with every value that comes or goes.
    const key = `${group.isZoomed ? `${range.from}:${range.to}` : ""}|${config.view.log}|${group.xKind}`;
    if (key !== this.madeFor && !group.isMoving) {
      this.bySide = { left: null, right: null };
      this.madeFor = key;
    }
    for (const side of ["left", "right"] as const) this.grow(side, config, range);
  }

  private grow(side: Side, config: PlotConfig, range: XRange): void {
    const lines = config.lines.filter((line) => line.side === side);
    if (lines.length === 0) return;
    const axis = axisOf(config, side);
    const { low, high } = lines.map((line) => extentOf(line, config, range)).reduce(union, NOTHING);
    this.bySide[side] = growAxis(this.isPlaceholder[side] ? null : this.bySide[side], low, high, {
      fromZero: axis.fromZero,
      integer: axis.integer,
      log: isLog(config, side),
      bytes: axis.bytes === true,
      ...(axis.part && { rows: axis.part.to - axis.part.from }),
    });
    // An axis without a value is a place holder, which the first value must not be bound by.
    this.isPlaceholder[side] = low === null;
  }

  /** What stands at the lower and the upper edge of the plot. */
  ends(config: PlotConfig, side: Side): [number, number] {
    const axis = this.bySide[side];
    if (!axis) return [0, 1];
    const { min, max } = plotEnds(axis, isLog(config, side), axisOf(config, side).part);
    return [min, max];
  }

  /** How far the pens of all lines go up and down, over a plot of this height. */
  wayPx(config: PlotConfig, range: XRange, heightPx: number): number {
    return config.lines.reduce((sum, line) => {
      const log = isLog(config, line.side);
      const [min, max] = this.ends(config, line.side);
      const span = log ? Math.log10(max / min) : max - min;
      return sum + (wayOf(line, range, log) / span) * heightPx;
    }, 0);
  }
}

function extentOf(line: PlotLine, config: PlotConfig, { from, to }: XRange): Extent {
  const { view } = config;
  const positive = isLog(config, line.side);
  // On a logarithmic axis a bound of almost 0 would take all the room.
  if (positive && line.kind === "floor") return NOTHING;
  const { drawn, old } = line.track;
  const shown = view.bands ? [drawn.low, drawn.high] : [drawn.value];
  const all = extent(drawn.x, shown, from, to, positive);
  if (!view.old) return all;
  return old.reduce(
    (sum, one) => union(sum, extent(one.columns.x, [one.columns.value], from, to, positive)),
    all,
  );
}
