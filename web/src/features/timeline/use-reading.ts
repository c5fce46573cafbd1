/** What of the lanes is read, under the pointer or by keys, and where its card stands. */
import { type PointerEvent, type RefObject, useState } from "react";
import type { XRange } from "@/components/chart/chart-group";
import { panned } from "@/components/chart/zoom";
import { type Row, rowAt } from "./lane-rows";
import { cardPlace } from "./span-card";
import { kindCard, type SpanCard, spanCard } from "./span-facts";
import { wholeOf } from "./time-range";
import { type Span, spanAt, type Timeline } from "./timeline-model";

/** The lanes and the window of time that they are seen through. */
export interface LanesInView {
  timeline: Timeline;
  rows: readonly Row[];
  range: XRange;
  /** Null: all there is. */
  onRange: (range: XRange | null) => void;
}

/** What is read, and where on the screen the card has its place. */
export interface Hot {
  card: SpanCard;
  lane: number | null;
  span: Span | null;
  left: number;
  top: number;
}

export interface Reading {
  hot: Hot | null;
  /** Reads what is under the pointer. */
  point: (event: PointerEvent) => void;
  /** Reads a span, which comes into view. */
  readSpan: (lane: number, span: Span) => void;
  close: () => void;
}

export function useReading(
  lanes: LanesInView,
  scroller: RefObject<HTMLElement | null>,
  canvas: RefObject<HTMLElement | null>,
): Reading {
  const { timeline, rows, range, onRange } = lanes;
  const [hot, setHot] = useState<Hot | null>(null);
  const readSpan = (lane: number, span: Span) => {
    const row = rows.find((one) => one.type === "lane" && one.lane === lane);
    if (!row || !scroller.current) return;
    keepInView(scroller.current, row);
    const isSeen = span.to > range.from && span.from < range.to;
    const next = isSeen ? range : centred(range, wholeOf(timeline), span);
    if (!isSeen) onRange(next);
    const share = (Math.max(span.from, next.from) - next.from) / (next.to - next.from);
    const left = share * (canvas.current?.clientWidth ?? 0);
    setHot({
      card: spanCard(timeline, lane, span),
      lane,
      span,
      ...cardPlace(scroller.current, canvas.current, left, row),
    });
  };
  return {
    hot,
    point: (event) => setHot(hotUnder(event, lanes, scroller.current)),
    readSpan,
    close: () => setHot(null),
  };
}

function hotUnder(
  event: PointerEvent,
  { timeline, rows, range }: LanesInView,
  scroller: HTMLElement | null,
): Hot | null {
  const plot = event.currentTarget.getBoundingClientRect();
  const row = rowAt(rows, event.clientY - plot.top + (scroller?.scrollTop ?? 0));
  const at = range.from + ((event.clientX - plot.left) / plot.width) * (range.to - range.from);
  if (!row || !scroller) return null;
  const place = cardPlace(scroller, event.currentTarget, event.clientX - plot.left, row);
  if (row.type === "kind") {
    const isMoment = row.isFolded && at >= 0 && at <= timeline.durationS;
    return isMoment
      ? { card: kindCard(timeline, row.kind, row.lanes, at), lane: null, span: null, ...place }
      : null;
  }
  const span = spanAt(timeline, row.lane, at);
  return span && { card: spanCard(timeline, row.lane, span), lane: row.lane, span, ...place };
}

function keepInView(scroller: HTMLElement, { top, height }: Row): void {
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  const bottom = top + height;
  if (bottom > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom - scroller.clientHeight;
}

function centred(range: XRange, domain: XRange, span: Span): XRange {
  const middle = (range.from + range.to) / 2;
  return panned(range, domain, (span.from + span.to) / 2 - middle);
}
