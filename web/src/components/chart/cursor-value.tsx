/** A metric's value under the cursor, without one the newest. Written in place: it changes with every move. */
import { useEffect, useRef } from "react";
import { MISSING } from "@/lib/numbers";
import type { ChartGroup } from "./chart-group";
import type { MetricTrack } from "./metric-track";
import { type Reading, readingNear } from "./readings";

export interface CursorValueProps {
  group: ChartGroup;
  track: MetricTrack;
  format: (reading: Reading) => string;
  className?: string | undefined;
}

export function CursorValue({ group, track, format, className }: CursorValueProps) {
  const element = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let frame = 0;
    const write = () => {
      frame = 0;
      const reading = readingNear(track, group.cursor);
      if (element.current) element.current.textContent = reading ? format(reading) : MISSING;
    };
    // Many points may come between two frames; one text is enough.
    const later = () => {
      if (frame === 0) frame = requestAnimationFrame(write);
    };
    write();
    const stops = [group.onCursor(later), track.onChange(later)];
    return () => {
      cancelAnimationFrame(frame);
      for (const stop of stops) stop();
    };
  }, [group, track, format]);
  return <span ref={element} className={className} />;
}
