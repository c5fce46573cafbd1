/** What the canvas of the lanes needs beyond its element: to be painted again, and the wheel for itself. */
import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { onThemeChange } from "@/components/chart/theme";

/** Paints after each render, when the canvas changes its size, and when the theme does. */
export function usePaint(canvas: RefObject<HTMLCanvasElement | null>, paint: () => void): void {
  const latest = useRef(paint);
  useLayoutEffect(() => {
    latest.current = paint;
    paint();
  });
  useEffect(() => {
    if (!canvas.current) return;
    const sizes = new ResizeObserver(() => latest.current());
    sizes.observe(canvas.current);
    const stop = onThemeChange(() => latest.current());
    return () => {
      sizes.disconnect();
      stop();
    };
  }, [canvas]);
}

/** `onWheel` of React cannot keep the page from scrolling. `at`: share of the width under the pointer. */
export function useWheel(
  canvas: RefObject<HTMLCanvasElement | null>,
  onWheel: (event: WheelEvent, at: number) => boolean,
): void {
  const latest = useRef(onWheel);
  useEffect(() => {
    latest.current = onWheel;
  });
  useEffect(() => {
    const element = canvas.current;
    const listener = (event: WheelEvent) => {
      const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
      if (latest.current(event, (event.clientX - left) / width)) event.preventDefault();
    };
    element?.addEventListener("wheel", listener, { passive: false });
    return () => element?.removeEventListener("wheel", listener);
  }, [canvas]);
}
