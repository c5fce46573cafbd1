/** The lanes in their order, with the name of each beside it, how busy it is, and a card of what is read. */
import { useRef } from "react";
import type { XRange } from "@/components/chart/chart-group";
import { useTold } from "@/lib/use-told";
import { rowsIn, rowsOf } from "./lane-rows";
import { LanesPlot } from "./lanes-plot";
import { RowFacts } from "./row-facts";
import { SpanCardBox } from "./span-card";
import { cardText } from "./span-facts";
import styles from "./timeline.module.css";
import type { Timeline } from "./timeline-model";
import { useReading } from "./use-reading";
import { useScrolled } from "./use-scrolled";

export interface TimelineLanesProps {
  timeline: Timeline;
  folded: readonly string[];
  onFold: (kind: string) => void;
  range: XRange;
  /** Null: all there is. */
  onRange: (range: XRange | null) => void;
  /** Told whether something of them is read. */
  onRead: (isRead: boolean) => void;
  /** The accessible name. */
  label: string;
}

export function TimelineLanes({
  timeline,
  folded,
  onFold,
  range,
  onRange,
  onRead,
  label,
}: TimelineLanesProps) {
  const { rows, height } = rowsOf(timeline.lanes, folded);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useScrolled(scroller);
  const lanes = { timeline, rows, range, onRange };
  const reading = useReading(lanes, scroller, canvas);
  const { hot } = reading;
  useTold(hot !== null, onRead);
  const shown = rowsIn(rows, view.scrollTop, view.height);
  return (
    <div className={styles.lanesBox}>
      <div ref={scroller} className={styles.scroller} onScroll={view.onScroll}>
        <div className={styles.stack} style={{ height }}>
          <LanesPlot
            lanes={lanes}
            shown={shown}
            scrollTop={view.scrollTop}
            height={Math.min(height, view.height)}
            canvas={canvas}
            reading={reading}
            label={label}
          />
          {shown.map((row) => (
            <RowFacts
              key={row.type === "kind" ? row.kind : row.label}
              row={row}
              timeline={timeline}
              range={range}
              onFold={onFold}
            />
          ))}
        </div>
      </div>
      {hot && <SpanCardBox card={hot.card} left={hot.left} top={hot.top} />}
      <div className="sr-only" aria-live="polite">
        {hot?.span && cardText(hot.card)}
      </div>
    </div>
  );
}
