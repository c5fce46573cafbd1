/** A schedule in small: a lane per rank, painted on one canvas, with a line where the other schedule ends. */
import { type CSSProperties, useEffect, useRef } from "react";
import { type ChartTheme, chartTheme, onThemeChange } from "@/components/chart/theme";
import type { ColourScale } from "../cell-colours";
import { useWidth } from "../use-width";
import type { LaneBox, Lanes } from "./lanes";
import styles from "./what-if.module.css";

export interface MiniGridProps {
  lanes: Lanes;
  scale: ColourScale;
  /** A made sentence: the picture's name. */
  label: string;
  /** Where the other schedule ends, as a fraction of the axis, and the words at that line. */
  ghost?: { at: number; text: string };
}

/** From this many ranks on lanes are thin and without numbers. */
const MANY_RANKS = 33;
const GAP_PX = 2;

export function MiniGrid({ lanes, scale, label, ghost }: MiniGridProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const isThin = lanes.ranks.length >= MANY_RANKS;
  useEffect(() => {
    const paint = () => canvas.current && width > 0 && paintLanes(canvas.current, lanes, scale);
    paint();
    return onThemeChange(paint);
  }, [lanes, scale, width]);
  return (
    <div className={styles.mini} data-thin={isThin || undefined} role="img" aria-label={label}>
      {!isThin && (
        <ol className={styles.ranks} aria-hidden="true">
          {lanes.ranks.map((_, rank) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a rank is its index
            <li key={rank}>{rank}</li>
          ))}
        </ol>
      )}
      <div
        ref={place}
        className={styles.lanes}
        style={{ "--num-ranks": lanes.ranks.length } as CSSProperties}
      >
        <canvas ref={canvas} />
        {ghost && (
          <span
            className={styles.ghost}
            style={{ left: `${ghost.at * 100}%` }}
            data-side={ghost.at > 0.5 ? "left" : "right"}
          >
            {ghost.text}
          </span>
        )}
      </div>
    </div>
  );
}

function paintLanes(canvas: HTMLCanvasElement, lanes: Lanes, scale: ColourScale): void {
  const ratio = window.devicePixelRatio;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const ctx = canvas.getContext("2d");
  if (!ctx || lanes.ranks.length === 0) return;
  ctx.scale(ratio, ratio);
  const theme = chartTheme();
  const pitch = height / lanes.ranks.length;
  // A quarter of the pitch lies between two lanes.
  const tall = Math.max(1, pitch * 0.75);
  lanes.ranks.forEach((boxes, rank) => {
    const top = rank * pitch + (pitch - tall) / 2;
    paintIdle(ctx, theme, { left: 0, top, width: lanes.end * width, height: tall });
    for (const box of boxes) paintBox(ctx, theme, scale, box, { top, tall, width });
  });
}

interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Hatched all along; the micro-batches lie on it. */
function paintIdle(ctx: CanvasRenderingContext2D, theme: ChartTheme, frame: Frame): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(frame.left, frame.top, frame.width, frame.height);
  ctx.clip();
  ctx.strokeStyle = theme.hatch;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let x = frame.left - frame.height; x < frame.left + frame.width; x += 6) {
    ctx.moveTo(x, frame.top + frame.height);
    ctx.lineTo(x + frame.height, frame.top);
  }
  ctx.stroke();
  ctx.restore();
}

function paintBox(
  ctx: CanvasRenderingContext2D,
  theme: ChartTheme,
  scale: ColourScale,
  box: LaneBox,
  { top, tall, width }: { top: number; tall: number; width: number },
): void {
  const left = box.left * width;
  const wide = Math.max(1, box.width * width - GAP_PX);
  if (box.isDummy && box.width === 0) return;
  ctx.fillStyle = theme.surface;
  ctx.fillRect(left, top, wide + GAP_PX, tall);
  const colours = scale.kind === "seq" ? theme.seq : theme.div;
  for (const { sample, left: start, width: share } of box.pieces) {
    ctx.fillStyle = colours[scale.index[sample] ?? 0] ?? theme.surface;
    const gap = share * wide > 4 ? 1 : 0;
    ctx.fillRect(left + start * wide, top, Math.max(0.5, share * wide - gap), tall);
  }
  ctx.setLineDash(box.isDummy ? [2, 2] : []);
  ctx.strokeStyle = box.isOverCap ? theme.stopping : theme.cellLine;
  ctx.lineWidth = box.isOverCap ? 2 : 1;
  const inset = ctx.lineWidth / 2;
  if (wide > 3) ctx.strokeRect(left + inset, top + inset, wide - 2 * inset, tall - 2 * inset);
  ctx.setLineDash([]);
}
