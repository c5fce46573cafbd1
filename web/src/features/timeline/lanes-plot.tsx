/** The lanes on a canvas. Wheel, drag and keys move the window of time; hover and the arrow keys read what an actor is
 * at. */
import type { KeyboardEvent, PointerEvent, RefObject } from "react";
import { wheelMove } from "@/components/chart/wheel";
import { panned, zoomed } from "@/components/chart/zoom";
import { keyAction } from "./lane-keys";
import type { Row } from "./lane-rows";
import { paintTimeline } from "./paint-timeline";
import { around, wholeOf } from "./time-range";
import styles from "./timeline.module.css";
import { usePaint, useWheel } from "./use-canvas";
import { useDrag } from "./use-drag";
import type { Hot, LanesInView, Reading } from "./use-reading";

export interface LanesPlotProps {
  lanes: LanesInView;
  /** The rows that are not scrolled away. */
  shown: readonly Row[];
  scrollTop: number;
  height: number;
  canvas: RefObject<HTMLCanvasElement | null>;
  reading: Reading;
  /** The accessible name. */
  label: string;
}

export function LanesPlot({ lanes, shown, scrollTop, height, canvas, reading, label }: LanesPlotProps) {
  const { timeline, range, onRange } = lanes;
  const { hot, point, close } = reading;
  usePaint(canvas, () => {
    if (!canvas.current) return;
    paintTimeline(canvas.current, { timeline, rows: shown, scrollTop, range, hot: markOf(hot) });
  });
  useWheelOver(canvas, lanes);
  const drag = useDrag(range, (from, shift) => onRange(panned(from, wholeOf(timeline), shift)));
  const onKeyDown = (event: KeyboardEvent) => {
    const act = keyAction(event, lanes, reading);
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };
  const onPointerMove = (event: PointerEvent<HTMLElement>) => {
    if (drag.move(event)) close();
    else point(event);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div
      role="group"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys read it span by span
      tabIndex={0}
      className={styles.plot}
      style={{ height }}
      aria-label={`${label}. Arrow keys read it, plus and minus zoom, Shift with an arrow key moves.`}
      onKeyDown={onKeyDown}
      onBlur={close}
      onPointerDown={drag.start}
      onPointerMove={onPointerMove}
      onPointerUp={drag.end}
      onPointerCancel={drag.end}
      onLostPointerCapture={drag.end}
      onPointerLeave={(event) => event.pointerType !== "touch" && close()}
      onDoubleClick={() => {
        if (hot?.span) onRange(around(hot.span.from, hot.span.to, timeline.durationS));
      }}
      data-dragging={drag.isOn || undefined}
    >
      <canvas ref={canvas} className={styles.canvas} role="img" aria-label={label} />
    </div>
  );
}

/** The span that is read is marked in its lane. */
function markOf(hot: Hot | null): { lane: number; from: number; to: number } | null {
  if (hot === null || hot.lane === null || hot.span === null) return null;
  return { lane: hot.lane, from: hot.span.from, to: hot.span.to };
}

function useWheelOver(canvas: RefObject<HTMLCanvasElement | null>, lanes: LanesInView): void {
  const { timeline, range, onRange } = lanes;
  const span = range.to - range.from;
  useWheel(canvas, (event, at) => {
    const move = wheelMove(event, canvas.current?.clientWidth ?? 1);
    if (move?.kind === "zoom") onRange(zoomed(range, wholeOf(timeline), range.from + at * span, move.factor));
    if (move?.kind === "pan") onRange(panned(range, wholeOf(timeline), move.share * span));
    return move !== null;
  });
}
