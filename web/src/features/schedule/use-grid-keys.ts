/** The grid under the keyboard: the arrow keys go from sample to sample, Enter opens one, and the focus is followed. */
import {
  type FocusEvent,
  type KeyboardEvent,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { cellElement, placeOfKey } from "./cell-key";
import { type GridGeometry, type Move, moveTo, type Place, type RankOrder } from "./grid-geometry";
import type { ReadSample } from "./use-read-sample";

const MOVES: Record<string, Move> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
  Home: "home",
  End: "end",
};

export interface KeysOfGrid {
  geometry: GridGeometry;
  order: readonly RankOrder[];
  read: ReadSample;
  onOpen: (place: Place) => void;
}

export function useGridKeys(
  grid: RefObject<HTMLElement | null>,
  { geometry, order, read, onOpen }: KeysOfGrid,
) {
  const { focus, hot, goTo, setFocus, setIsFocused } = read;
  const [hasKeys, setHasKeys] = useState(false);
  const wantsFocus = useRef(false);
  // Not before its row exists.
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    cellElement(grid.current, focus)?.focus();
  });
  return {
    /** Whether the grid has the focus. */
    hasKeys,
    onKeyDown: (event: KeyboardEvent) => {
      const move = MOVES[event.key];
      if (event.key === "Enter") onOpen(hot ?? focus);
      if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      goTo(moveTo(geometry, order, focus, move));
      wantsFocus.current = true;
    },
    onFocus: (event: FocusEvent) => {
      const key = event.target.getAttribute("data-cell");
      if (key !== null) setFocus(placeOfCell(geometry, focus, placeOfKey(key)));
      setIsFocused(event.target.matches(":focus-visible"));
      setHasKeys(true);
    },
    onBlur: () => {
      setIsFocused(false);
      setHasKeys(false);
    },
  };
}

/** The sample that was read last in a micro-batch that gets the focus, or its first one. */
function placeOfCell(
  { ranks }: GridGeometry,
  before: Place,
  { rank, cell }: { rank: number; cell: number | null },
): Place {
  if (before.rank === rank && (cell === null || before.cell === cell)) return before;
  const first = ranks[rank]?.cells.find(({ isDummy }) => !isDummy)?.index ?? 0;
  return { rank, cell: cell ?? first, piece: 0 };
}
