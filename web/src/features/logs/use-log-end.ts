/** Whether the reader is at the end of the log, and what came since it was left. */
import { type RefObject, useEffect, useState } from "react";
import { isSelectedIn } from "@/lib/in-hand";
import { countAfter } from "./log-reader";
import type { LogWindow } from "./log-window";

/** Whoever is so near to the end is at it. */
export const AT_END_PX = 30;

/** Whether text of the lines is selected: those that come must not scroll it away under the hand. */
export function useIsSelected(scroller: RefObject<HTMLElement | null>): boolean {
  const [isSelected, setIsSelected] = useState(false);
  useEffect(() => {
    const look = () => setIsSelected(isSelectedIn(scroller.current));
    document.addEventListener("selectionchange", look);
    return () => document.removeEventListener("selectionchange", look);
  }, [scroller]);
  return isSelected;
}

/** Lines that came since the reader left the end; whoever selects text has left it. */
export function useUnseen(window: LogWindow, scroller: RefObject<HTMLElement | null>, isSelected: boolean) {
  const newest = window.lines.at(-1)?.id ?? 0;
  const [leftAt, setLeftAt] = useState<number | null>(null);
  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    // Asked of the element: the virtual list hears of this scroll later.
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (below <= AT_END_PX && !window.hasAfter && !isSelected) setLeftAt(null);
    else setLeftAt((old) => old ?? newest);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is true when a selection begins, and when it ends
  useEffect(onScroll, [isSelected]);
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
