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
  const rows = timeline.lanes.flatMap((lane) => boxesIn(lane, range));
  return (
    <section
      ref={region}
      className={styles.table}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={`${label}, table`}
    >
      <DataTable
        columns={[
          { label: "Actor" },
          { label: "Busy in view", isNumber: true },
          { label: "Boxes", isNumber: true },
        ]}
      >
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
      <DataTable
        columns={[
          { label: "Actor" },
          { label: "Step", isNumber: true },
          { label: "Activity" },
          { label: "From", isNumber: true },
          { label: "To", isNumber: true },
          { label: "Takes", isNumber: true },
        ]}
      >
        <tbody>
          {rows.slice(0, MOST_ROWS).map(({ lane, i }) => (
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
      {rows.length > MOST_ROWS && (
        <p className={styles.none}>
          The first {formatInteger(MOST_ROWS)} of {formatInteger(rows.length)} boxes in view. Zoom in for the
          others.
        </p>
      )}
    </section>
  );
}

function secondsOf(seconds = 0): string {
  return `${seconds.toFixed(3)}\u00a0s`;
}

function boxesIn(lane: Lane, { from, to }: XRange): { lane: Lane; i: number }[] {
  const boxes: { lane: Lane; i: number }[] = [];
  for (let i = firstAfter(lane, from); i < lane.start.length && (lane.start[i] ?? 0) < to; i += 1) {
    boxes.push({ lane, i });
  }
  return boxes;
}
