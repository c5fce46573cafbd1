/** Paints the rows in view: boxes of activities, hatch where an actor waits, shares of folded kinds. */
import type { Activity } from "@/api/types";
import type { XRange } from "@/components/chart/chart-group";
import { ACTIVITIES, LOOKS } from "./activities";
import { type TimelineTheme, timelineTheme } from "./activity-colours";
import type { Row } from "./lane-rows";
import { densityOf, firstAfter, type Lane, type Timeline } from "./timeline-model";

export interface TimelinePicture {
  timeline: Timeline;
  /** Those in view. */
  rows: readonly Row[];
  scrollTop: number;
  range: XRange;
  /** The span or wait that is read. */
  hot: { lane: number; from: number; to: number } | null;
}

interface Surface {
  ctx: CanvasRenderingContext2D;
  theme: TimelineTheme;
  ratio: number;
  width: number;
  x: (seconds: number) => number;
}

const PAD_PX = 4;
const THIN_PAD_PX = 2;
/** A lane lower than this is thin. */
const THIN_PX = 20;
/** Room that a name needs beside its letters. */
const NAME_PAD_PX = 10;
const NAME_FROM_PX = 34;

export function paintTimeline(canvas: HTMLCanvasElement, picture: TimelinePicture): void {
  const ratio = window.devicePixelRatio;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const ctx = canvas.getContext("2d");
  if (!ctx || width === 0) return;
  ctx.clearRect(0, 0, width, height);
  const { range, timeline } = picture;
  const perSecond = width / Math.max(1e-9, range.to - range.from);
  const x = (seconds: number) => (seconds - range.from) * perSecond;
  const surface: Surface = { ctx, theme: timelineTheme(), ratio, width, x };
  for (const row of picture.rows) paintRow(surface, picture, row);
  ctx.fillStyle = surface.theme.line;
  for (const { from, to } of timeline.marks) {
    for (const edge of [from, to]) ctx.fillRect(Math.round(x(edge)), 0, ratio, height);
  }
}

function paintRow(surface: Surface, picture: TimelinePicture, row: Row): void {
  const { ctx, ratio, width, theme } = surface;
  const top = (row.top - picture.scrollTop) * ratio;
  const high = row.height * ratio;
  ctx.fillStyle = theme.grid;
  ctx.fillRect(0, Math.round(top + high) - ratio, width, ratio);
  if (row.type === "kind" && !row.isFolded) return;
  const pad = (row.height < THIN_PX ? THIN_PAD_PX : PAD_PX) * ratio;
  const box = { top: Math.round(top + pad), high: Math.round(high - 2 * pad) };
  paintWaiting(surface, picture.timeline, box);
  if (row.type === "kind") {
    const lanes = row.lanes.flatMap((index) => picture.timeline.lanes[index] ?? []);
    paintShares(surface, lanes, picture.range, box);
    return;
  }
  const lane = picture.timeline.lanes[row.lane];
  if (lane) paintLane(surface, lane, picture.range, box);
  if (picture.hot?.lane === row.lane) paintHot(surface, picture.hot, box);
}

interface Box {
  top: number;
  high: number;
}

/** The hatch lies under everything: what no box covers is a wait. */
function paintWaiting(surface: Surface, { durationS }: Timeline, { top, high }: Box): void {
  const { ctx, x, width } = surface;
  const [from, to] = [Math.max(0, x(0)), Math.min(width, x(durationS))];
  ctx.fillStyle = hatchOf(surface);
  ctx.fillRect(from, top, Math.max(0, to - from), high);
}

const HATCH_PX = 5;
let hatch: { colour: string; ratio: number; pattern: CanvasPattern } | null = null;

function hatchOf({ ctx, theme, ratio }: Surface): CanvasPattern | string {
  if (hatch?.colour === theme.hatch && hatch.ratio === ratio) return hatch.pattern;
  const tile = document.createElement("canvas");
  const size = Math.round(HATCH_PX * ratio);
  tile.width = size;
  tile.height = size;
  const pen = tile.getContext("2d");
  if (!pen) return theme.hatch;
  pen.strokeStyle = theme.hatch;
  pen.lineWidth = ratio;
  // Three strokes, so that the lines meet where tiles do.
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  const pattern = ctx.createPattern(tile, "repeat");
  if (!pattern) return theme.hatch;
  hatch = { colour: theme.hatch, ratio, pattern };
  return pattern;
}

function paintLane(surface: Surface, lane: Lane, range: XRange, box: Box): void {
  const { ctx, theme, ratio, x, width } = surface;
  let painted = Number.NEGATIVE_INFINITY;
  for (let i = firstAfter(lane, range.from); i < lane.start.length; i += 1) {
    const start = lane.start[i] ?? 0;
    if (start > range.to) break;
    const [left, right] = [Math.max(0, x(start)), Math.min(width, x(lane.end[i] ?? 0))];
    // Many spans in one pixel: the first of them stands for all.
    if (right <= painted) continue;
    const activity = lane.activity[i] ?? "schedule";
    const from = Math.max(left, painted);
    const wide = Math.max(ratio, right - from);
    ctx.fillStyle = theme.fill[activity];
    // A hair of the surface between two boxes, as long as they are wider than it.
    ctx.fillRect(from, box.top, wide > 4 * ratio ? wide - ratio : wide, box.high);
    painted = from + wide;
    if (box.high >= 14 * ratio && wide > NAME_FROM_PX * ratio) {
      paintName(surface, activity, { from, wide, box, ink: theme.ink[activity] });
    }
  }
}

interface Name {
  from: number;
  wide: number;
  box: Box;
  ink: string;
}

/** Words are never cut: a name that has no room is left out. */
function paintName({ ctx, theme, ratio }: Surface, activity: Activity, { from, wide, box, ink }: Name): void {
  ctx.font = `500 ${11 * ratio}px ${theme.font}`;
  const { label, short } = LOOKS[activity];
  const text = [label, short].find((one) => ctx.measureText(one).width + NAME_PAD_PX * ratio <= wide);
  if (text === undefined) return;
  ctx.fillStyle = ink;
  ctx.textBaseline = "middle";
  ctx.fillText(
    text,
    Math.round(from + (NAME_PAD_PX / 2) * ratio),
    Math.round(box.top + box.high / 2 + ratio / 2),
  );
}

/** Of a folded kind: at each moment, how many of its actors are at what. */
function paintShares(surface: Surface, lanes: readonly Lane[], range: XRange, box: Box): void {
  const { ctx, theme, ratio, width } = surface;
  const count = Math.max(1, Math.floor(width / ratio));
  const density = densityOf(lanes, range.from, range.to, count);
  const slot = width / count;
  const base = new Float32Array(count);
  for (const activity of ACTIVITIES) {
    const shares = density.get(activity);
    if (!shares) continue;
    ctx.fillStyle = theme.fill[activity];
    shares.forEach((share, i) => {
      if (share <= 0) return;
      const below = base[i] ?? 0;
      const bottom = box.top + box.high * (1 - below);
      ctx.fillRect(i * slot, bottom - share * box.high, slot + 0.5, share * box.high);
      base[i] = below + share;
    });
  }
}

function paintHot(surface: Surface, hot: { from: number; to: number }, { top, high }: Box): void {
  const { ctx, theme, ratio, x, width } = surface;
  const [left, right] = [Math.max(0, x(hot.from)), Math.min(width, x(hot.to))];
  ctx.strokeStyle = theme.focus;
  ctx.lineWidth = 2 * ratio;
  ctx.strokeRect(left - ratio, top - ratio, Math.max(3 * ratio, right - left + ratio), high + 2 * ratio);
}
