/** The window of time in view: moved at once, written to the URL when it rests. */
import { useEffect, useRef } from "react";
import type { XRange } from "@/components/chart/chart-group";
import { LEAST_S, windowOf } from "./time-range";
import type { TimelineSearch, TimelineSearchPatch } from "./timeline-search";

const REST_MS = 300;

/** A window that moves: it is one of the steps that it was taken from. */
export interface Moved {
  first: number;
  last: number;
  range: XRange;
}

export interface WindowGiven {
  search: TimelineSearch;
  setSearch: (patch: TimelineSearchPatch) => void;
  /** Null: it rests. */
  moved: Moved | null;
  setMoved: (moved: Moved | null) => void;
}

/** The steps that are shown. */
interface Shown {
  first: number;
  last: number;
  timeline: { durationS: number };
}

export function useWindow({ search, setSearch, moved, setMoved }: WindowGiven, shown: Shown) {
  const { first, last } = shown;
  const { durationS } = shown.timeline;
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const isMoving = moved !== null && moved.first === first && moved.last === last;
  const range = windowOf(isMoving ? moved.range : search, durationS);
  useEffect(() => () => stop(timer), []);
  // Other steps have another length: a window that was on its way means nothing in them.
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever other steps are shown
  useEffect(() => {
    stop(timer);
    setMoved(null);
  }, [first, last]);
  const onRange = (next: XRange | null) => {
    const isTooNarrow = next !== null && next.to - next.from < Math.min(LEAST_S, durationS);
    if (isTooNarrow) return;
    const whole = { from: 0, to: durationS };
    setMoved({ first, last, range: next ?? whole });
    stop(timer);
    timer.current = setTimeout(() => {
      const isWhole = next === null || (next.from <= 0 && next.to >= durationS);
      setSearch(
        isWhole
          ? { from: undefined, to: undefined }
          : // A part is one of this step, also when newer ones come.
            { step: last, from: rounded(next.from), to: rounded(next.to) },
      );
      setMoved(null);
    }, REST_MS);
  };
  return { range, onRange, isWhole: range.from <= 0 && range.to >= durationS };
}

function stop(timer: { current: ReturnType<typeof setTimeout> | null }): void {
  if (timer.current !== null) clearTimeout(timer.current);
}

/** Driver clocks tell microseconds at best; a URL need not say more. */
function rounded(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e6;
}
