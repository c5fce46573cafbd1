/** A sample that a link points to comes into view, with its card. */
import { type RefObject, useEffect } from "react";
import { cellElement } from "./cell-key";
import type { GridGeometry, Place } from "./grid-geometry";

export interface PointedSample {
  geometry: GridGeometry;
  /** Null: no link points to one. */
  pointed: number | null;
  setFocus: (place: Place) => void;
}

export function usePointedSample(
  grid: RefObject<HTMLElement | null>,
  card: RefObject<HTMLElement | null>,
  { geometry, pointed, setFocus }: PointedSample,
): void {
  useEffect(() => {
    const at = pointed === null ? undefined : geometry.places[pointed];
    if (!at) return;
    // The row that has the Tab key exists, also among very many.
    setFocus(at);
    const frame = requestAnimationFrame(() => {
      const box = cellElement(grid.current, at);
      const { top, bottom } = box?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
      // What is in view stays where it is.
      if (top < 0 || bottom > window.innerHeight) box?.scrollIntoView({ block: "center" });
      // Not before it has its place.
      if (card.current?.style.top) card.current.scrollIntoView({ block: "nearest" });
    });
    return () => cancelAnimationFrame(frame);
  }, [grid, card, geometry, pointed, setFocus]);
}
