/** A pointer that is pressed and moved takes the window of time with it. */
import { type PointerEvent, useRef, useState } from "react";
import type { XRange } from "@/components/chart/chart-group";

const DRAG_FROM_PX = 4;

export function useDrag(range: XRange, onMove: (from: XRange, shift: number) => void) {
  const began = useRef<{ x: number; range: XRange; width: number; isDrag: boolean } | null>(null);
  const [isOn, setIsOn] = useState(false);
  const end = () => {
    began.current = null;
    setIsOn(false);
  };
  return {
    isOn,
    start: (event: PointerEvent<HTMLElement>) => {
      if (event.button !== 0) return;
      began.current = { x: event.clientX, range, width: event.currentTarget.clientWidth, isDrag: false };
    },
    move: (event: PointerEvent<HTMLElement>): boolean => {
      const from = began.current;
      if (!from) return false;
      // It was let go where no page hears it.
      if (event.buttons === 0) {
        end();
        return false;
      }
      const by = event.clientX - from.x;
      if (!from.isDrag && Math.abs(by) < DRAG_FROM_PX) return false;
      if (!from.isDrag) {
        from.isDrag = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        setIsOn(true);
      }
      onMove(from.range, (-by / from.width) * (from.range.to - from.range.from));
      return true;
    },
    end,
  };
}
