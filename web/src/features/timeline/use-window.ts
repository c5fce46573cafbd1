/** The window of time in view: moved at once, written to the URL when it rests. */
import { useEffect, useRef, useState } from "react";
import type { XRange } from "@/components/chart/chart-group";
import { LEAST_S, windowOf } from "./time-range";
import type { TimelineSearch, TimelineSearchPatch } from "./timeline-search";

const REST_MS = 300;

export function useWindow(
  search: TimelineSearch,
  setSearch: (patch: TimelineSearchPatch) => void,
  durationS: number,
) {
  const [view, setView] = useState<XRange | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const isMoving = view !== null;
  const range = isMoving ? windowOf(view, durationS) : windowOf(search, durationS);
  useEffect(() => () => stop(timer), []);
  const onRange = (next: XRange | null) => {
    const isTooNarrow = next !== null && next.to - next.from < Math.min(LEAST_S, durationS);
    if (isTooNarrow) return;
    const whole = { from: 0, to: durationS };
    setView(next ?? whole);
    stop(timer);
    timer.current = setTimeout(() => {
      const isWhole = next === null || (next.from <= 0 && next.to >= durationS);
      setSearch(
        isWhole ? { from: undefined, to: undefined } : { from: rounded(next.from), to: rounded(next.to) },
      );
      setView(null);
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
