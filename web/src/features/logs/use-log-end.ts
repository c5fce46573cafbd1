/** Whether the reader is at the end of the log, and what came since it was left. */
import { type RefObject, useEffect, useState } from "react";
import { countAfter } from "./log-reader";
import type { LogWindow } from "./log-window";

/** Whoever is so near to the end is at it. */
export const AT_END_PX = 30;

/** Lines that came since the reader left the end. */
export function useUnseen(window: LogWindow, scroller: RefObject<HTMLElement | null>) {
  const newest = window.lines.at(-1)?.id ?? 0;
  const [leftAt, setLeftAt] = useState<number | null>(null);
  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    // Asked of the element: the virtual list hears of this scroll later.
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (below <= AT_END_PX && !window.hasAfter) setLeftAt(null);
    else setLeftAt((old) => old ?? newest);
  };
  const isAtEnd = leftAt === null && !window.hasAfter;
  return { numUnseen: leftAt === null ? 0 : countAfter(window.lines, leftAt), isAtEnd, onScroll };
}

/** A reader at the end stays there when the room for the lines changes. */
export function useHeldEnd(scroller: RefObject<HTMLElement | null>, isAtEnd: boolean): void {
  useEffect(() => {
    const element = scroller.current;
    if (!element || !isAtEnd) return;
    const observer = new ResizeObserver(() => {
      element.scrollTop = element.scrollHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller, isAtEnd]);
}
