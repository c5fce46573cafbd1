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

/** Labels that touch each other: they stand about their middle. */
interface Cluster {
  labels: EndLabel[];
  /** The y of the first. */
  start: number;
}

/** The same labels with at least `distance` between those that could touch, in the order of y; others stay where they
 * are. Between `top` and `bottom`, as far as there is room. Pure. */
export function keptApart(
  labels: readonly EndLabel[],
  distance: number,
  { top, bottom }: { top: number; bottom: number },
): EndLabel[] {
  const placed = (own: EndLabel[]): Cluster => {
    const middle = own.reduce((sum, { y }, i) => sum + y - i * distance, 0) / own.length;
    const last = bottom - (own.length - 1) * distance;
    return { labels: own, start: Math.max(top, Math.min(last, middle)) };
  };
  const clusters: Cluster[] = [];
  for (const label of [...labels].sort((a, b) => a.y - b.y)) {
    let own = placed([label]);
    for (let above = clusters.at(-1); above && touches(above, own, distance); above = clusters.at(-1)) {
      clusters.pop();
      own = placed([...above.labels, ...own.labels]);
    }
    clusters.push(own);
  }
  return clusters.flatMap(({ labels: own, start }) =>
    own.map((label, i) => ({ ...label, y: start + i * distance })),
  );
}

function touches(above: Cluster, below: Cluster, distance: number): boolean {
  return above.start + above.labels.length * distance > below.start;
}

export function paintNames(surface: Surface, labels: readonly EndLabel[]): void {
  const { ctx, ratio, theme, left, width } = surface;
  ctx.font = `500 ${FONT_PX * ratio}px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const room = left + width + 80 * ratio;
  for (const { text, colour, x, y } of labels) {
    const start = Math.round(Math.min(x, left + width) + GAP_PX * ratio);
    const shown = fitted(ctx, text, room - start);
    const at = Math.round(y);
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
