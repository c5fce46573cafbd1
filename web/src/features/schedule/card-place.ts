/** Where the card of a sample stands: under it, over it or beside it, never above the grid. Pure. */

/** Px from the grid's upper left corner. */
export interface CardRoom {
  sample: { left: number; right: number; top: number; bottom: number };
  grid: { width: number; height: number };
  /** Where the lanes end, and the figures beside them begin. */
  lanesRight: number;
  /** What of the page is in view. */
  view: { top: number; bottom: number };
  /** The card's own size. */
  card: { width: number; height: number };
}

const GAP_PX = 8;

export function placeCard({ sample, grid, lanesRight, view, card }: CardRoom): { left: number; top: number } {
  const under = { left: sample.left, top: sample.bottom + GAP_PX };
  const over = { left: sample.left, top: sample.top - GAP_PX - card.height };
  const isIn = (top: number, from: number, to: number) => top >= from && top + card.height <= to;
  const [top, bottom] = [Math.max(0, view.top), Math.min(grid.height, view.bottom)];
  const place =
    [under, over].find((at) => isIn(at.top, top, bottom)) ??
    // A grid of few ranks is lower than the card: it may stand below the grid, not over the controls above.
    [under, over].find((at) => isIn(at.top, top, view.bottom));
  if (!place) return beside({ sample, grid, lanesRight, view, card }) ?? under;
  // The figures beside the lanes stay in sight where the lanes have room for the card.
  const most = Math.max(lanesRight, card.width) - card.width;
  return { left: Math.max(0, Math.min(place.left, most, grid.width - card.width)), top: place.top };
}

/** Right or left of a sample near the end of the view; null: it is too wide for that. */
function beside({ sample, grid, view, card }: CardRoom): { left: number; top: number } | null {
  const top = Math.max(0, view.top, view.bottom - card.height - GAP_PX);
  const [left, right] = [sample.left - GAP_PX - card.width, sample.right + GAP_PX];
  if (right + card.width <= grid.width) return { left: right, top };
  return left >= 0 ? { left, top } : null;
}
