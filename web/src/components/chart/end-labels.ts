/** Names at the ends of lines: at the right edge beside them, kept apart; where a line ends early over its end, with an
 * outline instead of a plate, for other lines go on behind it. In canvas pixels. */
import type { Surface } from "./paint";

export interface EndLabel {
  text: string;
  colour: string;
  x: number;
  y: number;
}

export interface PlacedLabel extends EndLabel {
  /** Where its line ends, inside of the plot; null at the right edge. */
  end: { x: number; y: number } | null;
}

export interface LabelRoom {
  top: number;
  bottom: number;
  right: number;
  /** Between two names one over another. */
  distance: number;
}

const GAP_PX = 6;
const OUTLINE_PX = 3;
const DOT_PX = 2.5;
/** Of a letter, as a share of the distance of two names one over another. */
const LETTER = 0.5;
const FONT_PX = 11;

/** Labels that touch each other: they stand about their middle. */
interface Cluster<Label extends EndLabel> {
  labels: Label[];
  /** The y of the first. */
  start: number;
}

/** The same labels with at least `distance` between those that could touch, in the order of y; others stay where they
 * are. Between `top` and `bottom`, as far as there is room. Pure. */
export function keptApart<Label extends EndLabel>(
  labels: readonly Label[],
  distance: number,
  { top, bottom }: { top: number; bottom: number },
): Label[] {
  const stacked = (own: Label[]): Cluster<Label> => {
    const middle = own.reduce((sum, { y }, i) => sum + y - i * distance, 0) / own.length;
    const last = bottom - (own.length - 1) * distance;
    return { labels: own, start: Math.max(top, Math.min(last, middle)) };
  };
  const clusters: Cluster<Label>[] = [];
  for (const label of [...labels].sort((a, b) => a.y - b.y)) {
    let own = stacked([label]);
    for (let above = clusters.at(-1); above && touches(above, own, distance); above = clusters.at(-1)) {
      clusters.pop();
      own = stacked([...above.labels, ...own.labels]);
    }
    clusters.push(own);
  }
  return clusters.flatMap(({ labels: own, start }) =>
    own.map((label, i) => ({ ...label, y: start + i * distance })),
  );
}

function touches(above: Cluster<EndLabel>, below: Cluster<EndLabel>, distance: number): boolean {
  return above.start + above.labels.length * distance > below.start;
}

/** All labels in their places. Those of lines that end early stand a line above the end, below it at the top. Pure. */
export function placed(labels: readonly EndLabel[], room: LabelRoom): PlacedLabel[] {
  const { top, bottom, right, distance } = room;
  const isAtEdge = ({ x }: EndLabel) => x >= right - distance;
  const edge = keptApart(labels.filter(isAtEdge), distance, { top, bottom });
  const early = labels.filter((label) => !isAtEdge(label)).map((label) => over(label, room));
  return [
    ...edge.map((label) => ({ ...label, end: null })),
    ...besideEachOther(early, LETTER * distance).flatMap((some) =>
      keptApart(some, distance, { top, bottom }),
    ),
  ];
}

function over(label: EndLabel, { top, distance }: LabelRoom): PlacedLabel {
  const { x, y } = label;
  return { ...label, y: y - distance < top + distance / 2 ? y + distance : y - distance, end: { x, y } };
}

/** Groups of labels of which each reaches into the next one's width. */
function besideEachOther<Label extends EndLabel>(labels: readonly Label[], letter: number): Label[][] {
  const groups: Label[][] = [];
  for (const label of [...labels].sort((a, b) => a.x - b.x)) {
    const before = groups.at(-1);
    const last = before?.at(-1);
    // Both are centred over their ends; a letter of room stays between them.
    const reach = last ? letter * ((label.text.length + last.text.length) / 2 + 1) : 0;
    if (before && last && label.x - last.x < reach) before.push(label);
    else groups.push([label]);
  }
  return groups;
}

export function paintNames(surface: Surface, labels: readonly PlacedLabel[]): void {
  const { ctx, ratio, theme, left, width } = surface;
  ctx.font = `500 ${FONT_PX * ratio}px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const room = left + width + 80 * ratio;
  for (const { text, colour, x, y, end } of labels) {
    const start = Math.round(end ? end.x : Math.min(x, left + width) + GAP_PX * ratio);
    const shown = fitted(ctx, text, room - start);
    if (end) paintOverLines(surface, shown, { colour, y, end });
    else {
      ctx.fillStyle = colour;
      ctx.fillText(shown, start, Math.round(y));
    }
  }
}

interface Early {
  colour: string;
  y: number;
  end: { x: number; y: number };
}

function paintOverLines(
  { ctx, ratio, theme, left, width }: Surface,
  text: string,
  { colour, y, end }: Early,
): void {
  // Centred over the end, as far as the plot goes.
  const wide = ctx.measureText(text).width;
  const start = Math.round(Math.max(left, Math.min(end.x - wide / 2, left + width - wide)));
  ctx.strokeStyle = theme.surface;
  ctx.lineWidth = OUTLINE_PX * ratio;
  ctx.lineJoin = "round";
  ctx.strokeText(text, start, Math.round(y));
  ctx.fillStyle = colour;
  ctx.fillText(text, start, Math.round(y));
  ctx.beginPath();
  ctx.arc(end.x, end.y, DOT_PX * ratio, 0, 2 * Math.PI);
  ctx.fill();
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
