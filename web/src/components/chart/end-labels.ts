/** Names at the ends of lines: kept apart, on a plate of the surface. In canvas pixels. */
import type { Surface } from "./paint";

export interface EndLabel {
  text: string;
  colour: string;
  x: number;
  y: number;
}

const GAP_PX = 6;
const FONT_PX = 11;

/** The same labels with at least `distance` between those that could touch; order in y stays. Pure. */
export function keptApart(labels: readonly EndLabel[], distance: number): EndLabel[] {
  const byY = [...labels].sort((a, b) => a.y - b.y).map((label) => ({ ...label }));
  // Down first, then back up by half of what was pushed: a cluster stays about its middle.
  for (let i = 1; i < byY.length; i++) {
    const [above, own] = [byY[i - 1] as EndLabel, byY[i] as EndLabel];
    if (own.y - above.y < distance) own.y = above.y + distance;
  }
  const wanted = [...labels].sort((a, b) => a.y - b.y);
  const pushed = byY.reduce((total, label, i) => total + label.y - (wanted[i]?.y ?? label.y), 0);
  const back = byY.length > 0 ? pushed / byY.length : 0;
  return byY.map((label) => ({ ...label, y: label.y - back }));
}

export function paintNames(surface: Surface, labels: readonly EndLabel[]): void {
  const { ctx, ratio, theme, left, width, top, height } = surface;
  ctx.font = `500 ${FONT_PX * ratio}px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const room = left + width + 80 * ratio;
  for (const { text, colour, x, y } of labels) {
    const start = Math.round(Math.min(x, left + width) + GAP_PX * ratio);
    const shown = fitted(ctx, text, room - start);
    const at = Math.round(Math.min(top + height, Math.max(top, y)));
    const wide = ctx.measureText(shown).width;
    ctx.fillStyle = theme.surface;
    ctx.fillRect(start - 2 * ratio, at - 7 * ratio, wide + 4 * ratio, 14 * ratio);
    ctx.fillStyle = colour;
    ctx.fillText(shown, start, at);
  }
}

function fitted(ctx: CanvasRenderingContext2D, text: string, width: number): string {
  let [shown, length] = [text, text.length];
  while (length > 2 && ctx.measureText(shown).width > width) {
    length -= 1;
    shown = cutInside(text, length);
  }
  return shown;
}

/** The text with so many of its characters: names differ at their beginnings or at their ends, so both stay. Pure. */
export function cutInside(text: string, length: number): string {
  const end = Math.floor(length / 2);
  return `${text.slice(0, length - end)}…${text.slice(text.length - end)}`;
}
