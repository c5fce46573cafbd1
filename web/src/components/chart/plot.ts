/** One plot: the only file that touches uPlot. It draws tracks in place and never passes a point through React.
 *
 *      tracks ── change ──► group ── next frame ──► redraw: columns → uPlot → hooks paint the rest
 *
 * uPlot gives scales, paths, the cursor and the drag; grid, labels, bands, old attempts and marks are painted here.
 */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ChartGroup, GroupMember, XRange } from "./chart-group";
import {
  axisOf,
  FRAME,
  hasEndLabels,
  isLog,
  leftGutter,
  type PlotConfig,
  type PlotLine,
  type Side,
} from "./plot-config";
import { paint } from "./plot-paint";
import { plotEnds } from "./plot-scale";
import { type Column, colourOf, dotElement, nearestMeasured, seriesOf, setCursor } from "./plot-series";
import { type Extent, extent, joinColumns, positiveOnly, smooth, union } from "./series-math";
import { type ChartTheme, chartTheme, onThemeChange } from "./theme";
import type { Axis } from "./ticks";
import { growAxis } from "./y-range";

export interface PlotEvents {
  /** The cursor moved to this x, or left. */
  onCursor?: (x: number | null) => void;
  /** A range was dragged, or all of it is asked for again. */
  onZoom?: (range: XRange | null) => void;
  /** A point was chosen by click. */
  onChoose?: (x: number) => void;
  /** After each redraw. */
  onDrawn?: (status: PlotStatus) => void;
}

export interface PlotStatus {
  /** Points that a logarithmic axis can't hold. */
  hidden: number;
  points: number;
  hasFinite: boolean;
}

const NO_AXES: Record<Side, Axis | null> = { left: null, right: null };
const NOTHING: Extent = { low: null, high: null };
const DRAG_PX = 6;
const DOUBLE_CLICK_MS = 250;

export class Plot implements GroupMember {
  isVisible = true;
  private u: uPlot | null = null;
  private columns: Column[] = [];
  private axes: Record<Side, Axis | null> = { left: null, right: null };
  private isPlaceholder: Record<Side, boolean> = { left: true, right: true };
  private axesFor = "";
  private hidden = 0;
  private size = { width: 0, height: 0 };
  private unsubscribe: (() => void)[] = [];
  private readonly root: HTMLElement;
  private readonly group: ChartGroup;
  private readonly events: PlotEvents;
  private config: PlotConfig;

  constructor(root: HTMLElement, group: ChartGroup, config: PlotConfig, events: PlotEvents) {
    this.root = root;
    this.group = group;
    this.config = config;
    this.events = events;
    this.watchTracks();
    group.add(this);
  }

  destroy(): void {
    for (const stop of this.unsubscribe) stop();
    this.group.remove(this);
    this.u?.destroy();
    this.u = null;
  }

  setConfig(config: PlotConfig): void {
    this.config = config;
    this.watchTracks();
    this.rebuild();
  }

  resize(width: number, height: number): void {
    if (width === this.size.width && height === this.size.height) return;
    this.size = { width, height };
    if (this.u) this.u.setSize(this.size);
    this.group.invalidate(this);
  }

  private watchTracks(): void {
    for (const stop of this.unsubscribe) stop();
    const invalidate = () => this.group.invalidate(this);
    const tracks = new Set(this.config.lines.map(({ track }) => track));
    this.unsubscribe = [...tracks].map((track) => track.onChange(invalidate));
    this.unsubscribe.push(onThemeChange(() => this.rebuild()));
  }

  private rebuild(): void {
    this.u?.destroy();
    this.u = null;
    this.group.invalidate(this);
  }

  redraw(): void {
    if (this.size.width < 1 || this.size.height < 1) return;
    const data = this.data();
    this.updateAxes();
    if (this.u) this.u.setData(data);
    else this.u = new uPlot(this.options(), data, this.root);
    this.u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.holdCursor();
    this.events.onDrawn?.(this.status());
  }

  private status(): PlotStatus {
    const main = this.config.lines.find(({ kind }) => kind === "line")?.track;
    return {
      hidden: this.hidden,
      points: main?.total ?? 0,
      hasFinite: main?.columns.value.some((value) => value !== null) ?? false,
    };
  }

  // Data

  private data(): uPlot.AlignedData {
    const { lines, view } = this.config;
    this.hidden = 0;
    this.columns = lines.flatMap((line): Column[] => {
      const raw = { line, smoothed: false };
      return view.smoothing > 0 && line.kind === "line" ? [raw, { line, smoothed: true }] : [raw];
    });
    const parts = this.columns.map((column) => ({
      x: column.line.track.columns.x,
      values: this.valuesOf(column),
    }));
    const { from, to } = this.group.range();
    // Without a point the axes are drawn all the same.
    if (parts.every(({ x }) => x.length === 0)) return [[from, to], ...parts.map(() => [null, null])];
    const shared = parts.every(({ x }) => x === parts[0]?.x);
    const joined = shared
      ? { x: parts[0]?.x ?? [], columns: parts.map(({ values }) => values) }
      : joinColumns(parts);
    return [joined.x, ...joined.columns] as uPlot.AlignedData;
  }

  private valuesOf({ line, smoothed }: Column): (number | null)[] {
    const { columns } = line.track;
    const values = smoothed ? smooth(columns, this.config.view.smoothing) : columns.value;
    if (!isLog(this.config, line.side)) return values;
    const positive = positiveOnly(values);
    if (!smoothed && line.kind !== "floor") this.hidden += positive.hidden;
    return positive.values;
  }

  // Axes

  private updateAxes(): void {
    const { from, to } = this.group.range();
    const { view } = this.config;
    // Another range or kind of axis is another picture: what grew before does not bind it.
    const key = `${this.group.isZoomed ? `${from}:${to}` : ""}|${view.log}|${this.group.xKind}`;
    if (key !== this.axesFor) this.axes = { left: null, right: null };
    this.axesFor = key;
    for (const side of ["left", "right"] as const) {
      const lines = this.config.lines.filter((line) => line.side === side);
      if (lines.length === 0) continue;
      const axis = axisOf(this.config, side);
      const { low, high } = lines.map((line) => this.extentOf(line, from, to)).reduce(union, NOTHING);
      const grown = growAxis(this.isPlaceholder[side] ? null : this.axes[side], low, high, {
        fromZero: axis.fromZero,
        integer: axis.integer,
        log: isLog(this.config, side),
        bytes: axis.bytes === true,
        ...(axis.part && { rows: axis.part.to - axis.part.from }),
      });
      this.axes[side] = grown;
      // An axis without a value is a place holder, which the first value must not be bound by.
      this.isPlaceholder[side] = low === null;
    }
  }

  private extentOf(line: PlotLine, from: number, to: number): Extent {
    const { view } = this.config;
    const positive = isLog(this.config, line.side);
    // On a logarithmic axis a bound of almost 0 would take all the room.
    if (positive && line.kind === "floor") return NOTHING;
    const { columns, old } = line.track;
    const shown = view.bands ? [columns.low, columns.high] : [columns.value];
    const all = extent(columns.x, shown, from, to, positive);
    if (!view.old) return all;
    return old.reduce(
      (sum, one) => union(sum, extent(one.columns.x, [one.columns.value], from, to, positive)),
      all,
    );
  }

  private ends(side: Side): [number, number] {
    const axis = this.axes[side];
    if (!axis) return [0, 1];
    const { min, max } = plotEnds(axis, isLog(this.config, side), axisOf(this.config, side).part);
    return [min, max];
  }

  // uPlot

  private options(): uPlot.Options {
    const theme = chartTheme();
    const scale = (side: Side): uPlot.Scale => ({
      distr: isLog(this.config, side) ? 3 : 1,
      range: () => this.ends(side),
    });
    return {
      ...this.size,
      pxAlign: 0,
      padding: [FRAME.top, this.rightGutter(), FRAME.bottom, leftGutter(this.config)],
      legend: { show: false },
      axes: [{ show: false }, { show: false }],
      scales: {
        x: { time: false, range: () => [this.group.range().from, this.group.range().to] },
        left: scale("left"),
        right: scale("right"),
      },
      series: [{}, ...this.columns.map((column) => seriesOf(column, theme, this.config.view.smoothing > 0))],
      cursor: this.cursorOptions(theme),
      hooks: {
        drawClear: [(u) => paint({ ...this.scene(), u }, "below")],
        draw: [(u) => paint({ ...this.scene(), u }, "above")],
        setCursor: [(u) => this.onCursor(u)],
        setSelect: [(u) => this.onSelect(u)],
        ready: [(u) => this.listen(u)],
      },
    };
  }

  private rightGutter(): number {
    if (hasEndLabels(this.config)) return FRAME.endLabels;
    return this.config.right ? FRAME.left : FRAME.right;
  }

  private scene() {
    // Before the first points no scale is drawn: it would jump when they come.
    const axes = this.columns.some(({ line }) => line.track.total > 0) ? this.axes : NO_AXES;
    return { group: this.group, config: this.config, columns: this.columns, axes };
  }

  private cursorOptions(theme: ChartTheme): uPlot.Cursor {
    return {
      y: false,
      sync: {
        key: this.group.key,
        scales: ["x", null],
        // Only the cursor is shared: a drag is one chart's own until it becomes a range.
        filters: { pub: (type) => type === "mousemove", sub: () => true },
      },
      // uPlot takes any click for a drag whose cursor stands on a point instead of under the pointer: `listen` decides.
      drag: { x: true, y: false, setScale: false, dist: DRAG_PX, click: () => {} },
      bind: { dblclick: () => null },
      // The line stands on a point: what is read off is what was measured.
      move: (u, left, top) => {
        if (left < 0) return [left, top];
        const x = this.nearestX(u.posToVal(left, "x"));
        return [x === null ? left : u.valToPos(x, "x"), top];
      },
      dataIdx: (u, series, index) => nearestMeasured(u.data[series] ?? [], index),
      points: {
        size: 11,
        // uPlot takes "no element" for "no dot"; its types do not say so.
        show: (_, series) => (this.hasDot(series) ? dotElement() : undefined) as HTMLElement,
        stroke: () => theme.surface,
        fill: (_, series) => colourOf(this.columns[series - 1]?.line ?? { kind: "line" }, theme),
      },
    };
  }

  /** A raw line under its average, and a floor, have no dot of their own. */
  private hasDot(series: number): boolean {
    const column = this.columns[series - 1];
    if (!column || column.line.kind === "floor") return false;
    return column.smoothed || this.config.view.smoothing === 0 || column.line.kind !== "line";
  }

  private nearestX(x: number): number | null {
    const { from, to } = this.group.range();
    let best: number | null = null;
    for (const { line } of this.columns) {
      const index = line.track.indexAt(x);
      const at = index === null ? undefined : line.track.columns.x[index];
      if (at === undefined || at < from || at > to) continue;
      if (best === null || Math.abs(at - x) < Math.abs(best - x)) best = at;
    }
    return best;
  }

  // Cursor

  private onCursor(u: uPlot): void {
    const { left } = u.cursor;
    const x = left === undefined || left < 0 ? null : this.nearestX(u.posToVal(left, "x"));
    // Only the chart under the pointer speaks; the others follow.
    if (u.cursor.event || this.isMoving) {
      this.group.setCursor(x);
      this.events.onCursor?.(x);
    }
  }

  private isMoving = false;

  /** Sets the cursor of this chart, and with it of all others, to the point nearest to x; null removes it. */
  moveTo(x: number | null): void {
    if (!this.u) return;
    this.isMoving = true;
    const left = x === null ? -10 : this.u.valToPos(x, "x");
    setCursor(this.u, left, { fire: true, publish: true });
    this.isMoving = false;
  }

  /** Moves the cursor by so many points; without a cursor it begins at the newest. */
  moveBy(points: number): void {
    const track = this.config.lines[0]?.track;
    if (!track || track.columns.x.length === 0) return;
    const last = track.columns.x.length - 1;
    const cursor = this.group.cursor;
    const from = cursor === null ? last + (points < 0 ? 1 : 0) : (track.indexAt(cursor) ?? last);
    const to = Math.min(last, Math.max(0, from + points));
    this.moveTo(track.columns.x[to] as number);
  }

  /** Data grew or the frame changed under a resting cursor: it stays at its x. */
  private holdCursor(): void {
    const x = this.group.cursor;
    if (!this.u || x === null) return;
    setCursor(this.u, this.u.valToPos(x, "x"), { fire: false, publish: false });
  }

  private onSelect(u: uPlot): void {
    const { left, width } = u.select;
    if (width < DRAG_PX) return;
    this.events.onZoom?.({ from: u.posToVal(left, "x"), to: u.posToVal(left + width, "x") });
  }

  private listen(u: uPlot): void {
    let downX = 0;
    let timer = 0;
    u.over.addEventListener("mousedown", ({ clientX }) => {
      downX = clientX;
    });
    u.over.addEventListener("dblclick", () => {
      clearTimeout(timer);
      this.events.onZoom?.(null);
    });
    u.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - downX) >= DRAG_PX || event.detail > 1) return;
      // A finger has no hover: its tap reads the value.
      if (event instanceof PointerEvent && event.pointerType === "touch") return;
      const x = this.group.cursor;
      const choose = () => x !== null && this.events.onChoose?.(x);
      // Only where there is something to zoom out of may the first click be half of a double one.
      if (this.group.isZoomed) timer = window.setTimeout(choose, DOUBLE_CLICK_MS);
      else choose();
    });
  }
}
