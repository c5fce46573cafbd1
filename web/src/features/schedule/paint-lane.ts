/** Samples, and where asked for micro-batches too, of one rank on a canvas: many boxes are too many elements. */
import { type ChartTheme, chartTheme } from "@/components/chart/theme";
import type { ColourScale } from "./cell-colours";
import type { Cell, Rank } from "./grid-geometry";

export interface LanePicture {
  rank: Rank;
  scale: ColourScale;
  /** Whether the micro-batches' own frames are painted as well. */
  withBoxes: boolean;
  /** Whether dummies cost nothing; then they are not to scale. */
  skipsDummies: boolean;
  /** Width and height of the lane in px. */
  width: number;
  height: number;
}

/** Between two micro-batches. */
export const GAP_PX = 2;
/** Narrower boxes are all frame. */
const FRAMED_PX = 3;
/** Device pixels from which a line parts two samples: of narrower ones it would leave nothing to see. */
const PARTED_PX = 4;

/** Whether a sample of this width, in px of the page, is parted from the next one. */
export function isParted(width: number, ratio = window.devicePixelRatio): boolean {
  return width * ratio >= PARTED_PX;
}

export function paintLane(canvas: HTMLCanvasElement, picture: LanePicture): void {
  const ratio = window.devicePixelRatio;
  canvas.width = Math.round(picture.width * ratio);
  canvas.height = Math.round(picture.height * ratio);
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.scale(ratio, ratio);
  const theme = chartTheme();
  for (const cell of picture.rank.cells) paintCell(ctx, theme, cell, picture);
}

function paintCell(
  ctx: CanvasRenderingContext2D,
  theme: ChartTheme,
  cell: Cell,
  { scale, withBoxes, skipsDummies, width, height }: LanePicture,
): void {
  if (cell.isDummy && (!withBoxes || skipsDummies)) return;
  const colours = scale.kind === "seq" ? theme.seq : theme.div;
  const start = cell.left * width;
  const inner = Math.max(1, cell.width * width - GAP_PX);
  if (withBoxes) {
    const dummy = cell.isDummy && scale.dummy !== undefined ? colours[scale.dummy] : undefined;
    ctx.fillStyle = dummy ?? theme.surface;
    ctx.fillRect(start, 0, inner, height);
  }
  const ratio = window.devicePixelRatio;
  // Between pixels two neighbours would let the surface through: stripes where samples are narrow.
  const snap = (at: number) => Math.round((start + at * inner) * ratio) / ratio;
  for (const { sample, left, width: share } of cell.pieces) {
    ctx.fillStyle = colours[scale.index[sample] ?? 0] ?? theme.surface;
    const gap = isParted(share * inner, ratio) ? 1 : 0;
    const [from, to] = [snap(left), snap(left + share)];
    ctx.fillRect(from, 0, Math.max(1 / ratio, to - from - gap), height);
  }
  if (withBoxes && inner > FRAMED_PX) frame(ctx, theme, cell, { start, inner, height });
}

function frame(
  ctx: CanvasRenderingContext2D,
  theme: ChartTheme,
  cell: Cell,
  { start, inner, height }: { start: number; inner: number; height: number },
): void {
  ctx.setLineDash(cell.isDummy ? [2, 2] : []);
  ctx.strokeStyle = cell.isOverCap ? theme.stopping : theme.cellLine;
  ctx.lineWidth = cell.isOverCap ? 2 : 1;
  const inset = ctx.lineWidth / 2;
  ctx.strokeRect(start + inset, inset, inner - 2 * inset, height - 2 * inset);
}
