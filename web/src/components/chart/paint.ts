/** Strokes and fills that uPlot has no series for: grid, labels, bands, old attempts, marks. All in canvas pixels. */
import type { NonFinite } from "@/lib/numbers";
import { FRAME } from "./plot-config";
import type { ChartTheme } from "./theme";

/** Where a plot lies on its canvas, and how its data get there. */
export interface Surface {
  ctx: CanvasRenderingContext2D;
  theme: ChartTheme;
  /** Canvas pixels per CSS pixel. */
  ratio: number;
  left: number;
  top: number;
  width: number;
  height: number;
  xOf: (x: number) => number;
  yOf: (y: number) => number;
}

/** A colour of the tokens (#RRGGBB) with an opacity. */
export function withAlpha(colour: string, alpha: number): string {
  const byte = Math.round(alpha * 255)
    .toString(16)
    .padStart(2, "0");
  return /^#[0-9a-f]{6}$/i.test(colour) ? colour + byte : colour;
}

export function clipped(surface: Surface, draw: () => void): void {
  const { ctx } = surface;
  ctx.save();
  ctx.beginPath();
  ctx.rect(surface.left, surface.top, surface.width, surface.height);
  ctx.clip();
  draw();
  ctx.restore();
}

/** Horizontal lines at the given canvas y, sharp on whole pixels. */
export function paintGrid(surface: Surface, ys: readonly number[]): void {
  const { ctx, left, width, ratio } = surface;
  ctx.fillStyle = surface.theme.grid;
  const thick = Math.max(1, Math.round(ratio));
  for (const y of ys) ctx.fillRect(left, Math.round(y) - Math.floor(thick / 2), width, thick);
}

const LABEL_GAP = 6;
/** What a gutter leaves beside a label. */
const LABEL_MARGIN = LABEL_GAP + 1;

function textStyle({ ctx, theme, ratio }: Surface): void {
  ctx.font = `${11 * ratio}px ${theme.font}`;
  ctx.fillStyle = theme.text3;
  ctx.textBaseline = "middle";
}

/** Labels in the gutter, beside the plot. */
export function paintYLabels(
  surface: Surface,
  labels: readonly { y: number; text: string }[],
  side: "left" | "right",
): void {
  const { ctx, ratio } = surface;
  textStyle(surface);
  ctx.textAlign = side === "left" ? "right" : "left";
  // A longer one, such as `0.01025`, is set narrower and never cut.
  const most = (side === "left" ? surface.left : FRAME.left * ratio) - LABEL_MARGIN * ratio;
  const x =
    side === "left" ? surface.left - LABEL_GAP * ratio : surface.left + surface.width + LABEL_GAP * ratio;
  for (const { y, text } of labels) ctx.fillText(text, Math.round(x), Math.round(y), most);
}

/** Labels under the plot; the first and last stay inside the frame, and one that would touch another is left out. */
export function paintXLabels(surface: Surface, labels: readonly { x: number; text: string }[]): void {
  const { ctx, ratio, left, width } = surface;
  textStyle(surface);
  ctx.textAlign = "left";
  const y = Math.round(surface.top + surface.height + 13 * ratio);
  let free = Number.NEGATIVE_INFINITY;
  for (const { x, text } of labels) {
    const wide = ctx.measureText(text).width;
    const start = Math.min(Math.max(x - wide / 2, left), left + width + 10 * ratio - wide);
    if (start < free) continue;
    ctx.fillText(text, Math.round(start), y);
    free = start + wide + 10 * ratio;
  }
}

export interface BandColumns {
  x: readonly number[];
  low: readonly (number | null)[];
  high: readonly (number | null)[];
}

/** A filled band between two columns, broken at gaps; `stepped` holds each value until the next x. */
export function paintBand(surface: Surface, columns: BandColumns, colour: string, stepped: boolean): void {
  const { ctx } = surface;
  ctx.fillStyle = colour;
  let from = 0;
  for (let i = 0; i <= columns.x.length; i++) {
    if (i < columns.x.length && columns.low[i] != null && columns.high[i] != null) continue;
    if (i - from > 1) fillBetween(surface, columns, from, i, stepped);
    from = i + 1;
  }
}

function fillBetween(
  surface: Surface,
  { x, low, high }: BandColumns,
  from: number,
  end: number,
  stepped: boolean,
) {
  const { ctx, xOf, yOf } = surface;
  ctx.beginPath();
  for (let i = from; i < end; i++) {
    const at = xOf(x[i] as number);
    if (stepped && i > from) ctx.lineTo(at, yOf(high[i - 1] as number));
    ctx.lineTo(at, yOf(high[i] as number));
  }
  for (let i = end - 1; i >= from; i--) {
    const at = xOf(x[i] as number);
    ctx.lineTo(at, yOf(low[i] as number));
    if (stepped && i > from) ctx.lineTo(at, yOf(low[i - 1] as number));
  }
  ctx.fill();
}

/** A thin dashed line over columns with gaps: an attempt that was superseded. */
export function paintOldLine(
  surface: Surface,
  x: readonly number[],
  values: readonly (number | null)[],
  colour: string,
  stepped: boolean,
): void {
  const { ctx, xOf, yOf, ratio } = surface;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.25 * ratio;
  ctx.setLineDash([3 * ratio, 2 * ratio]);
  ctx.beginPath();
  let before: number | null = null;
  values.forEach((value, i) => {
    if (value !== null) {
      const at = xOf(x[i] as number);
      if (before === null) ctx.moveTo(at, yOf(value));
      else if (stepped) ctx.lineTo(at, yOf(before));
      ctx.lineTo(at, yOf(value));
    }
    before = value;
  });
  ctx.stroke();
  ctx.setLineDash([]);
}

/** The faint field over what was trained again, and the line where the next attempt took over. */
export function paintOldField(surface: Surface, from: number, to: number, label: string | null): void {
  const { ctx, theme, ratio, top, height } = surface;
  const start = Math.round(surface.xOf(from));
  ctx.fillStyle = withAlpha(theme.text3, 0.07);
  ctx.fillRect(start, top, Math.max(2 * ratio, surface.xOf(to) - start), height);
  ctx.strokeStyle = theme.line3;
  ctx.lineWidth = Math.max(1, Math.round(ratio));
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(start + 0.5, top);
  ctx.lineTo(start + 0.5, top + height);
  ctx.stroke();
  ctx.setLineDash([]);
  if (label === null) return;
  textStyle(surface);
  // It stands on the side with more room.
  const isLeft = start + 6 * ratio + ctx.measureText(label).width > surface.left + surface.width;
  ctx.textAlign = isLeft ? "right" : "left";
  ctx.fillText(label, start + (isLeft ? -6 : 6) * ratio, Math.round(top + 9 * ratio));
}

export function paintDot(
  surface: Surface,
  x: number,
  y: number,
  size: number,
  colour: string,
  ring: boolean,
): void {
  const { ctx, ratio } = surface;
  if (ring) {
    ctx.fillStyle = surface.theme.surface;
    disc(ctx, x, y, (size / 2 + 2) * ratio);
  }
  ctx.fillStyle = colour;
  disc(ctx, x, y, (size / 2) * ratio);
}

function disc(ctx: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

/** Half the size of a mark of a non-finite value. */
const MARK = 3.5;

/** Cross at the top edge: NaN. Triangle up at the top: +Infinity. Triangle down at the bottom: −Infinity. */
export function paintMark(surface: Surface, at: number, kind: NonFinite): void {
  const { ctx, theme, ratio, left, width, top, height } = surface;
  const r = MARK * ratio;
  // Whole inside the plot: at its end it would touch the labels of the axis.
  const x = Math.min(left + width - r, Math.max(left + r, at));
  const y = kind === "-Infinity" ? top + height - r : top + r;
  ctx.strokeStyle = theme.failed;
  ctx.fillStyle = theme.failed;
  ctx.lineWidth = 1.75 * ratio;
  ctx.beginPath();
  if (kind === "NaN") {
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x + r, y - r);
    ctx.lineTo(x - r, y + r);
    ctx.stroke();
    return;
  }
  const tip = kind === "Infinity" ? y - r : y + r;
  const base = kind === "Infinity" ? y + r : y - r;
  ctx.moveTo(x, tip);
  ctx.lineTo(x + r, base);
  ctx.lineTo(x - r, base);
  ctx.fill();
}

/** The marks that fit beside each other; the legend counts them all. */
export function spacedMarks<M extends { x: number; kind: NonFinite }>(
  marks: readonly M[],
  pixelOf: (x: number) => number,
  apart: number,
): M[] {
  const last = new Map<NonFinite, number>();
  return marks.filter(({ x, kind }) => {
    const at = pixelOf(x);
    if (at - (last.get(kind) ?? Number.NEGATIVE_INFINITY) < apart) return false;
    last.set(kind, at);
    return true;
  });
}
