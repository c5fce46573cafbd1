/** Keeps new runs back while the reader is scrolled, so that no row moves under the eyes. */
import { useEffect, useRef, useState } from "react";
import type { RunSummary } from "@/api/types";

/** Further down than this a row that comes in at the top would push what is read. */
const SCROLLED_PX = 80;

export interface HeldRuns {
  shown: readonly RunSummary[];
  numHeld: number;
  release: () => void;
}

/** `view` names the filter: another view starts anew. */
export function useHeldRuns(runs: readonly RunSummary[], view: string): HeldRuns {
  const known = useRef<{ view: string; ids: Set<string> } | null>(null);
  const [, setReleases] = useState(0);
  const isScrolled = useIsScrolled();
  const isNewView = known.current?.view !== view;
  if (isNewView || !isScrolled) known.current = { view, ids: new Set(runs.map((run) => run.id)) };
  const { shown, numHeld } = holdBack(runs, known.current?.ids ?? new Set());
  return {
    shown,
    numHeld,
    release: () => {
      known.current = null;
      setReleases((old) => old + 1);
      scrollTo({ top: 0 });
    },
  };
}

/** Holds back the unknown runs above the first known one; older pages that come in below are no news. */
export function holdBack(
  runs: readonly RunSummary[],
  known: ReadonlySet<string>,
): { shown: readonly RunSummary[]; numHeld: number } {
  const first = runs.findIndex((run) => known.has(run.id));
  if (first <= 0) return { shown: runs, numHeld: 0 };
  return { shown: runs.slice(first), numHeld: first };
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
