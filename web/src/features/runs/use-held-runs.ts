/** Keeps the rows where they are while the reader is scrolled or has one of them in hand: none moves under the eyes, and
 * none takes the place of the one that is aimed at. */
import { type RefObject, useEffect, useRef, useState } from "react";
import type { RunSummary } from "@/api/types";
import { isInHand } from "@/lib/in-hand";

/** Further down than this a row that comes in at the top would push what is read. */
const SCROLLED_PX = 80;

export interface RowsBody {
  ref: RefObject<HTMLTableSectionElement | null>;
  onPointerLeave: () => void;
}

export interface HeldRuns {
  shown: readonly RunSummary[];
  numHeld: number;
  release: () => void;
  /** What the element of the rows is given. */
  body: RowsBody;
}

/** `view` names what is listed: another one starts anew; null: what is listed is that of the view before. A list that is
 * sorted by a column follows it also while the reader is scrolled. */
export function useHeldRuns(runs: readonly RunSummary[], view: string | null, isSorted: boolean): HeldRuns {
  const known = useRef<{ view: string | null; ids: readonly string[] }>({ view: null, ids: [] });
  const body = useRef<HTMLTableSectionElement>(null);
  const [, setReleases] = useState(0);
  const renderAnew = () => setReleases((old) => old + 1);
  const isScrolled = useIsScrolled();
  const isHeld = (isScrolled && !isSorted) || isInHand(body.current);
  const isNewView = view !== null && known.current.view !== view;
  const { shown, numHeld } = holdBack(runs, isNewView || !isHeld ? [] : known.current.ids);
  if (view !== null) known.current = { view, ids: shown.map((run) => run.id) };
  return {
    shown,
    numHeld,
    release: () => {
      known.current.ids = [];
      renderAnew();
      scrollTo({ top: 0 });
    },
    body: { ref: body, onPointerLeave: renderAnew },
  };
}

/** Leaves the known runs in their order, and holds back the unknown ones above the last of them; older pages that come in
 * below are no news. */
export function holdBack(
  runs: readonly RunSummary[],
  known: readonly string[],
): { shown: readonly RunSummary[]; numHeld: number } {
  const places = new Map(known.map((id, place) => [id, place]));
  const placeOf = (run: RunSummary) => places.get(run.id);
  const last = runs.findLastIndex((run) => places.has(run.id));
  const isNews = (run: RunSummary, i: number) => i < last && !places.has(run.id);
  const shown = runs.filter((run, i) => !isNews(run, i));
  const held = shown.slice(0, shown.findLastIndex((run) => places.has(run.id)) + 1);
  const inOrder = held.sort((a, b) => (placeOf(a) ?? 0) - (placeOf(b) ?? 0));
  return { shown: [...inOrder, ...shown.slice(held.length)], numHeld: runs.length - shown.length };
}

function useIsScrolled(): boolean {
  const [isScrolled, setIsScrolled] = useState(false);
  useEffect(() => {
    const onScroll = () => setIsScrolled(scrollY > SCROLLED_PX);
    addEventListener("scroll", onScroll, { passive: true });
    return () => removeEventListener("scroll", onScroll);
  }, []);
  return isScrolled;
}
