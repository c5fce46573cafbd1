/** One plot: the only file that touches uPlot. It draws tracks in place and never passes a point through React.
 *
 *      tracks ── change ──► group ── next frame ──► redraw: columns → uPlot → hooks paint the rest
 *
 * uPlot gives scales, paths, the cursor and the drag; grid, labels, bands, old attempts and marks are painted here.
 */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ChartGroup, GroupMember, XKind, XRange } from "./chart-group";
import { PlotAxes } from "./plot-axes";
import { FRAME, hasEndLabels, isLog, leftGutter, type PlotConfig, type Side } from "./plot-config";
import { columnsOf, cutAtEdges, dataOf, type PlotData } from "./plot-data";
import { DRAG_PX, listen } from "./plot-gestures";
import { paint } from "./plot-paint";
import {
  type Column,
  colourOf,
  dotElement,
  nearestMeasured,
  type Pen,
  penOf,
  seriesOf,
  setCursor,
} from "./plot-series";
import { type ChartTheme, chartTheme, onThemeChange } from "./theme";
import type { Axis } from "./ticks";

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
/** Beyond this a wide pen paints a patch. */
const RAGGED_PX = 40_000;

export class Plot implements GroupMember {
  /** Near the screen. */
  isVisible = true;
  /** The axis on which a range is being selected, while the button is down. */
  private selecting: XKind | null = null;
  private u: uPlot | null = null;
  private columns: Column[] = [];
  private readonly axes = new PlotAxes();
  /** Null: points came, or other lines are drawn. Moving the range leaves it as it is. */
  private data: PlotData | null = null;
  private size = { width: 0, height: 0 };
  private unsubscribe: (() => void)[] = [];
  private readonly ended = new AbortController();
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
    window.addEventListener("blur", () => this.giveUpSelecting(), { signal: this.ended.signal });
  }

  /** A chart on which a range is being selected stands still: points that come would move what is under the hand. */
  get isReady(): boolean {
    return this.isVisible && this.selecting === null;
  }

  destroy(): void {
    this.ended.abort();
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
    const invalidate = () => {
      this.data = null;
      this.group.announce(this);
    };
    const tracks = new Set(this.config.lines.map(({ track }) => track));
    this.unsubscribe = [...tracks].map((track) => track.onChange(invalidate));
    this.unsubscribe.push(onThemeChange(() => this.rebuild()));
  }

  private rebuild(): void {
    this.u?.destroy();
    this.u = null;
    this.data = null;
    this.selecting = null;
    this.group.invalidate(this);
  }

  redraw(): void {
    if (this.size.width < 1 || this.size.height < 1) return;
    const aligned = this.aligned();
    this.axes.update(this.config, this.group);
    if (this.u) {
      this.takePens(this.u);
      this.u.setData(aligned);
    } else this.u = new uPlot(this.options(), aligned, this.root);
    this.u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.holdCursor();
    this.events.onDrawn?.(this.status());
  }

  private status(): PlotStatus {
    const main = this.config.lines.find(({ kind }) => kind === "line")?.track;
    return {
      hidden: this.data?.hidden ?? 0,
      points: main?.total ?? 0,
      hasFinite: main?.columns.value.some((value) => value !== null) ?? false,
    };
  }

  // Data

  private aligned(): uPlot.AlignedData {
    if (!this.data) {
      this.columns = columnsOf(this.config);
      this.data = dataOf(this.config, this.columns, this.group.xKind);
    }
    const { from, to } = this.group.range();
    if (!this.data.isEmpty) {
      const isAtRest = this.group.isZoomed && !this.group.isMoving;
      return isAtRest ? cutAtEdges(this.data.aligned, { from, to }) : this.data.aligned;
    }
    // Without a point the axes are drawn all the same.
    return [[from, to], ...this.columns.map(() => [null, null])];
  }

  private takePens(u: uPlot): void {
    const pens = this.pens();
    u.series.forEach((series, k) => {
      if (k > 0) Object.assign(series, pens[k - 1]);
    });
  }

  /** A picture of one frame, and one of ragged lines, is drawn with lighter pens. */
  private pens(): Pen[] {
    const look = {
      ragged: this.axes.wayPx(this.config, this.group.range(), this.size.height) > RAGGED_PX,
      moving: this.group.isMoving,
    };
    return this.columns.map((column) => penOf(column, chartTheme(), look));
  }

  // uPlot

  private options(): uPlot.Options {
    const theme = chartTheme();
    const pens = this.pens();
    const scale = (side: Side): uPlot.Scale => ({
      distr: isLog(this.config, side) ? 3 : 1,
      range: () => this.axes.ends(this.config, side),
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
      series: [
        {},
        ...this.columns.map((column, k) => ({
          ...seriesOf(column, theme, this.config.view.smoothing > 0),
          ...pens[k],
        })),
      ],
      cursor: this.cursorOptions(theme),
      hooks: {
        drawClear: [(u) => paint({ ...this.scene(), u }, "below")],
        draw: [(u) => paint({ ...this.scene(), u }, "above")],
        setCursor: [(u) => this.onCursor(u)],
        setSelect: [(u) => this.onSelect(u)],
        ready: [(u) => listen(u, this.group, this.events)],
      },
    };
  }

  private rightGutter(): number {
    if (hasEndLabels(this.config)) return FRAME.endLabels;
    return this.config.right ? FRAME.left : FRAME.right;
  }

  private scene() {
    // Before the first points no scale is drawn: it would jump when they come.
    const axes = this.columns.some(({ line }) => line.track.total > 0) ? this.axes.bySide : NO_AXES;
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
      bind: {
        dblclick: () => null,
        mousedown: (_, __, select) => (event) => this.beginSelecting(event, select),
        mouseup: (_, __, select) => (event) => {
          select(event);
          this.letGo();
          return null;
        },
      },
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

  // Selecting a range

  private beginSelecting(event: MouseEvent, select: uPlot.Cursor.MouseListener): null {
    // With Shift a drag moves the range instead.
    if (event.button !== 0 || event.shiftKey) return null;
    this.selecting = this.group.settledXKind;
    select(event);
    return null;
  }

  /** The button may be let go where no page hears it: uPlot would go on selecting, and a new one does not. */
  private giveUpSelecting(): void {
    if (this.selecting !== null) this.rebuild();
  }

  private letGo(): void {
    if (this.selecting === null) return;
    this.selecting = null;
    this.group.invalidate(this);
  }

  private onSelect(u: uPlot): void {
    const { left, width } = u.select;
    // What was read off another axis means nothing on this one.
    if (width < DRAG_PX || this.selecting === null || this.selecting !== this.group.settledXKind) return;
    this.events.onZoom?.({ from: u.posToVal(left, "x"), to: u.posToVal(left + width, "x") });
  }
}
