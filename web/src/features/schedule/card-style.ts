/** Where the card of a sample stands in the grid as it is drawn now. */
import type { CSSProperties } from "react";
import { placeCard } from "./card-place";
import { cellElement } from "./cell-key";
import type { GridGeometry, Place } from "./grid-geometry";

const CARD_PX = 272;
/** Of the card: its head and foot, and one fact. */
const FRAME_PX = 70;
const FACT_PX = 17;
const EVERYWHERE = { top: 0, bottom: Number.POSITIVE_INFINITY };

export interface CardOfSample {
  place: Place;
  numFacts: number;
  isHeld: boolean;
}

export function cardStyle(
  grid: HTMLElement | null,
  geometry: GridGeometry,
  { place: { rank, cell, piece }, numFacts, isHeld }: CardOfSample,
): CSSProperties {
  const box = cellElement(grid, { rank, cell });
  const lane = box?.parentElement?.getBoundingClientRect();
  const at = geometry.ranks[rank]?.cells[cell];
  const part = at?.pieces[piece];
  if (!grid || !lane || !at || !part) return {};
  const frame = grid.getBoundingClientRect();
  const x = (share: number) => lane.left - frame.left + (at.left + at.width * share) * lane.width;
  return placeCard({
    sample: {
      left: x(part.left),
      right: x(part.left + part.width),
      top: lane.top - frame.top,
      bottom: lane.bottom - frame.top,
    },
    grid: frame,
    lanesRight: lane.right - frame.left,
    // What is held open is scrolled to, and stays with its sample.
    view: isHeld ? EVERYWHERE : { top: -frame.top, bottom: window.innerHeight - frame.top },
    card: { width: CARD_PX, height: FRAME_PX + numFacts * FACT_PX },
  });
}
