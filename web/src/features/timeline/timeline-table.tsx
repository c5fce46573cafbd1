/** The table behind the picture: the boxes in view, and what each actor did with its time. */
import { useEffect, useRef } from "react";
import type { XRange } from "@/components/chart/chart-group";
import { DataTable, NumberCell, RowHead } from "@/components/data-table";
import { formatDuration } from "@/lib/durations";
import { formatInteger, formatPercent } from "@/lib/numbers";
import { LOOKS } from "./activities";
import styles from "./timeline.module.css";
import { busyFrac, firstAfter, type Lane, type Timeline } from "./timeline-model";

/** Nobody reads more rows than this; zooming in brings the others. */
const MOST_ROWS = 1000;

export interface TimelineTableProps {
  timeline: Timeline;
  range: XRange;
  label: string;
}

export function TimelineTable({ timeline, range, label }: TimelineTableProps) {
  const region = useRef<HTMLElement>(null);
  useEffect(() => region.current?.focus(), []);
  const boxes = timeline.lanes.flatMap((lane) => boxesIn(lane, range));
  return (
    <section
      ref={region}
      className={styles.table}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={`${label}, table`}
    >
      <BusyTable timeline={timeline} range={range} />
      <BoxTable boxes={boxes.slice(0, MOST_ROWS)} />
      {boxes.length > MOST_ROWS && (
        <p className={styles.none}>
          The first {formatInteger(MOST_ROWS)} of {formatInteger(boxes.length)} boxes in view. Zoom in for the
          others.
        </p>
      )}
    </section>
  );
}

const BUSY_COLUMNS = [
  { label: "Actor" },
  { label: "Busy in view", isNumber: true },
  { label: "Boxes", isNumber: true },
];

/** What each actor did with its time. */
function BusyTable({ timeline, range }: Pick<TimelineTableProps, "timeline" | "range">) {
  return (
    <DataTable columns={BUSY_COLUMNS}>
      <tbody>
        {timeline.lanes.map((lane) => (
          <tr key={lane.actor}>
            <RowHead>
              <bdi>{lane.actor}</bdi>
            </RowHead>
            <NumberCell>{formatPercent(busyFrac(lane, range.from, range.to))}</NumberCell>
            <NumberCell>{formatInteger(boxesIn(lane, range).length)}</NumberCell>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

const BOX_COLUMNS = [
  { label: "Actor" },
  { label: "Step", isNumber: true },
  { label: "Activity" },
  { label: "From", isNumber: true },
  { label: "To", isNumber: true },
  { label: "Takes", isNumber: true },
];

function BoxTable({ boxes }: { boxes: readonly Box[] }) {
  return (
    <DataTable columns={BOX_COLUMNS}>
      <tbody>
        {boxes.map(({ lane, i }) => (
          <tr key={`${lane.actor} ${i}`}>
            <RowHead>
              <bdi>{lane.actor}</bdi>
            </RowHead>
            <NumberCell>{formatInteger(lane.step[i] ?? 0)}</NumberCell>
            <td>{LOOKS[lane.activity[i] ?? "schedule"].label}</td>
            <NumberCell>{secondsOf(lane.start[i])}</NumberCell>
            <NumberCell>{secondsOf(lane.end[i])}</NumberCell>
            <NumberCell>{formatDuration((lane.end[i] ?? 0) - (lane.start[i] ?? 0))}</NumberCell>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

function secondsOf(seconds = 0): string {
  return `${seconds.toFixed(3)}\u00a0s`;
}

interface Box {
  lane: Lane;
  /** Which of its lane. */
  i: number;
}

function boxesIn(lane: Lane, { from, to }: XRange): Box[] {
  const boxes: Box[] = [];
  for (let i = firstAfter(lane, from); i < lane.start.length && (lane.start[i] ?? 0) < to; i += 1) {
    boxes.push({ lane, i });
  }
  return boxes;
}
