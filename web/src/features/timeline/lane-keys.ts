/** The keys of the lanes: the arrows read span by span, the others move the window of time. */
import type { KeyboardEvent } from "react";
import { panned, zoomed } from "@/components/chart/zoom";
import { laneOrder } from "./lane-rows";
import { around, wholeOf } from "./time-range";
import { neighbour, spanAt } from "./timeline-model";
import type { LanesInView, Reading } from "./use-reading";

const ZOOM = 0.7;
/** Of the window, for each press of a key. */
const PAN_SHARE = 0.2;

type Steps = Record<"left" | "right" | "up" | "down", () => void>;

/** What a key does; null: it is not one of the lanes. */
export function keyAction(event: KeyboardEvent, lanes: LanesInView, reading: Reading): (() => void) | null {
  const { timeline, range, onRange } = lanes;
  const { hot, close } = reading;
  const zoom = (factor: number) => () => onRange(zoomed(range, wholeOf(timeline), null, factor));
  const pan = (by: number) => () =>
    onRange(panned(range, wholeOf(timeline), by * PAN_SHARE * (range.to - range.from)));
  const steps = stepsFrom(lanes, reading);
  const actions: Record<string, () => void> = {
    "+": zoom(ZOOM),
    "=": zoom(ZOOM),
    "-": zoom(1 / ZOOM),
    "0": () => onRange(null),
    arrowleft: event.shiftKey ? pan(-1) : steps.left,
    arrowright: event.shiftKey ? pan(1) : steps.right,
    arrowup: steps.up,
    arrowdown: steps.down,
    enter: () => hot?.span && onRange(around(hot.span.from, hot.span.to, timeline.durationS)),
    escape: close,
  };
  return actions[event.key.toLowerCase()] ?? null;
}

/** From the span that is read to the one beside it in its lane, or in the lane beside; the first press reads one at all. */
function stepsFrom({ timeline, rows, range }: LanesInView, { hot, readSpan }: Reading): Steps {
  const order = laneOrder(rows);
  const readAt = (lane: number | undefined, at: number) => {
    const found = lane === undefined ? null : spanAt(timeline, lane, at);
    if (lane !== undefined && found) readSpan(lane, found);
  };
  const first = () => readAt(order[0], (range.from + range.to) / 2);
  const along = (by: 1 | -1) => () => {
    if (hot?.lane == null || !hot.span) first();
    else readSpan(hot.lane, neighbour(timeline, hot.lane, hot.span, by));
  };
  const across = (by: 1 | -1) => () => {
    if (hot?.lane == null || !hot.span) return first();
    const at = Math.min(Math.max((hot.span.from + hot.span.to) / 2, range.from), range.to);
    readAt(order[order.indexOf(hot.lane) + by], at);
  };
  return { left: along(-1), right: along(1), up: across(-1), down: across(1) };
}
