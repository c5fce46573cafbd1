/** Which sample the grid reads, and what closes its card: Escape wherever the focus is, or a click beside it. */
import { type RefObject, useEffect, useRef, useState } from "react";
import type { GridGeometry, Place } from "./grid-geometry";

export interface ReadSample {
  /** Where the arrow keys are; it takes the Tab key. */
  focus: Place;
  /** The sample whose card is open. */
  hot: Place | null;
  /** It is open until it is closed: a link points to it. */
  isHeld: boolean;
  /** Whether the card follows the arrow keys. */
  isFocused: boolean;
  point: (place: Place | null) => void;
  goTo: (place: Place) => void;
  setFocus: (place: Place) => void;
  setIsFocused: (isFocused: boolean) => void;
  close: () => void;
  /** Closes a card that is held, by a click on a sample: the one that was clicked is read then. */
  release: () => void;
}

/** The sample of a link holds the card; otherwise the one under the pointer has it, otherwise the focused one. */
export function useReadSample(
  geometry: GridGeometry,
  pointed: number | null,
  onClose: () => void,
): ReadSample {
  const [hover, setHover] = useState<Place | null>(null);
  /** The sample under the pointer whose card was closed: it stays so until the pointer is elsewhere. */
  const [dismissed, setDismissed] = useState<Place | null>(null);
  const [chosen, setFocus] = useState<Place | null>(null);
  const [isFocused, setIsFocused] = useState(false);
  const given = (pointed === null ? null : geometry.places[pointed]) ?? null;
  // Another step has other boxes: what no longer exists falls back to the first one.
  const isChosen = chosen !== null && sampleAt(geometry, chosen) !== null;
  const focus = isChosen ? chosen : (given ?? firstPlace(geometry));
  const isThere = hover !== null && sampleAt(geometry, hover) !== null && !samePlace(hover, dismissed);
  return {
    focus,
    hot: given ?? (isThere ? hover : isFocused ? focus : null),
    isHeld: given !== null,
    isFocused,
    point: (place) => {
      if (samePlace(place, hover)) return;
      setHover(place);
      setDismissed(null);
    },
    goTo: (place) => {
      setHover(null);
      setFocus(place);
      setIsFocused(true);
      if (given) onClose();
    },
    setFocus,
    setIsFocused,
    close: () => {
      setDismissed(hover);
      setIsFocused(false);
      if (given) onClose();
    },
    release: () => {
      if (!given) return;
      if (samePlace(hover, given)) setDismissed(hover);
      onClose();
    },
  };
}

const LANES = "[role=grid] [role=presentation]";

/** Closes an open card: by Escape from anywhere but a dialog, or by a click outside it. */
export function useClosing(
  card: RefObject<HTMLElement | null>,
  isOpen: boolean,
  how: { close: () => void; release: () => void },
): void {
  const latest = useRef(how);
  useEffect(() => {
    latest.current = how;
  });
  useEffect(() => {
    if (!isOpen) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      latest.current.close();
    };
    const onClick = ({ target, detail }: MouseEvent) => {
      // A button that is pressed by key is no click beside the card.
      if (detail === 0 || !(target instanceof Element)) return;
      if (card.current?.contains(target) || target.closest("[data-shows-sample]")) return;
      if (target.closest(LANES)) latest.current.release();
      else latest.current.close();
    };
    window.addEventListener("keydown", onKeyDown);
    // Before the click does what it is for: it may lead to another page.
    window.addEventListener("click", onClick, { capture: true });
    return () => {
      window.removeEventListener("keydown", onKeyDown);
      window.removeEventListener("click", onClick, { capture: true });
    };
  }, [card, isOpen]);
}

export function firstPlace(geometry: GridGeometry): Place {
  const rank = geometry.ranks.find(({ cells }) => cells.some(({ isDummy }) => !isDummy));
  const cell = rank?.cells.find(({ isDummy }) => !isDummy);
  return { rank: rank?.rank ?? 0, cell: cell?.index ?? 0, piece: 0 };
}

export function sampleAt({ ranks }: GridGeometry, { rank, cell, piece }: Place): number | null {
  return ranks[rank]?.cells[cell]?.pieces[piece]?.sample ?? null;
}

function samePlace(a: Place | null, b: Place | null): boolean {
  return a?.rank === b?.rank && a?.cell === b?.cell && a?.piece === b?.piece;
}
