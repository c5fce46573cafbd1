/** The lanes on a canvas, with their names and how busy each is beside it. Wheel, drag and keys move the window of time;
 * hover and the arrow keys read what an actor is at. */
import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { XRange } from "@/components/chart/chart-group";
import { onThemeChange } from "@/components/chart/theme";
import { wheelMove } from "@/components/chart/wheel";
import { panned, zoomed } from "@/components/chart/zoom";
import { Icon } from "@/components/icon";
import { formatCount, formatPercent } from "@/lib/numbers";
import { laneOrder, type Row, rowAt, rowsIn, rowsOf } from "./lane-rows";
import { paintTimeline } from "./paint-timeline";
import { cardText, kindCard, type SpanCard, spanCard } from "./span-facts";
import { around } from "./time-range";
import styles from "./timeline.module.css";
import { busyFrac, neighbour, type Span, spanAt, type Timeline } from "./timeline-model";

export interface TimelineLanesProps {
  timeline: Timeline;
  folded: readonly string[];
  onFold: (kind: string) => void;
  range: XRange;
  /** Null: all there is. */
  onRange: (range: XRange | null) => void;
  /** The accessible name. */
  label: string;
}

/** What is read, and where on the screen the card has its place. */
interface Hot {
  card: SpanCard;
  lane: number | null;
  span: Span | null;
  left: number;
  top: number;
}

const ZOOM = 0.7;
/** Of the window, for each press of a key. */
const PAN_SHARE = 0.2;
const CARD_PX = 232;
const CARD_HEIGHT_PX = 130;

export function TimelineLanes(props: TimelineLanesProps) {
  const { timeline, folded, onFold, range, onRange, label } = props;
  const { rows, height } = rowsOf(timeline.lanes, folded);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useView(scroller);
  const [hot, setHot] = useState<Hot | null>(null);
  const shown = rowsIn(rows, view.scrollTop, view.height);
  const domain = { from: 0, to: timeline.durationS };
  usePaint(canvas, () => {
    if (!canvas.current) return;
    const { lane = null, span = null } = hot ?? {};
    const mark = lane !== null && span !== null ? { lane, from: span.from, to: span.to } : null;
    paintTimeline(canvas.current, { timeline, rows: shown, scrollTop: view.scrollTop, range, hot: mark });
  });
  useWheel(canvas, (event, at) => {
    const span = range.to - range.from;
    const move = wheelMove(event, canvas.current?.clientWidth ?? 1);
    if (move?.kind === "zoom") onRange(zoomed(range, domain, range.from + at * span, move.factor));
    if (move?.kind === "pan") onRange(panned(range, domain, move.share * span));
    return move !== null;
  });
  const read = (event: PointerEvent) => setHot(hotUnder(event, { timeline, rows, range }));
  const drag = useDrag(range, (from, shift) => onRange(panned(from, domain, shift)));
  const readSpan = (lane: number, span: Span) => {
    const row = rows.find((one) => one.type === "lane" && one.lane === lane);
    if (!row || !scroller.current) return;
    keepInView(scroller.current, row);
    const isSeen = span.to > range.from && span.from < range.to;
    const next = isSeen ? range : centred(range, domain, span);
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
  const onKeyDown = (event: KeyboardEvent) => {
    const act = keyAction(event, {
      timeline,
      rows,
      range,
      domain,
      hot,
      onRange,
      readSpan,
      close: () => setHot(null),
    });
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };
  return (
    <div className={styles.lanesBox}>
      <div ref={scroller} className={styles.scroller} onScroll={view.onScroll}>
        <div className={styles.stack} style={{ height }}>
          {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
          <div
            role="group"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys read it span by span
            tabIndex={0}
            className={styles.plot}
            style={{ height: Math.min(height, view.height) }}
            aria-label={`${label}. Arrow keys read it, plus and minus zoom, Shift with an arrow key moves.`}
            onKeyDown={onKeyDown}
            onBlur={() => setHot(null)}
            onPointerDown={drag.start}
            onPointerMove={(event) => {
              if (drag.move(event)) setHot(null);
              else read(event);
            }}
            onPointerUp={drag.end}
            onPointerLeave={(event) => event.pointerType !== "touch" && setHot(null)}
            onDoubleClick={() => {
              if (hot?.span) onRange(around(hot.span.from, hot.span.to, timeline.durationS));
            }}
            data-dragging={drag.isOn || undefined}
          >
            <canvas ref={canvas} className={styles.canvas} role="img" aria-label={label} />
          </div>
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
      {hot && <Card card={hot.card} left={hot.left} top={hot.top} />}
      <div className="sr-only" aria-live="polite">
        {hot?.span && cardText(hot.card)}
      </div>
    </div>
  );
}

/** How far the lanes are scrolled, and how much of them is seen. */
function useView(scroller: RefObject<HTMLDivElement | null>) {
  const [view, setView] = useState({ scrollTop: 0, height: 600 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const update = () => setView({ scrollTop: element.scrollTop, height: element.clientHeight });
    const sizes = new ResizeObserver(update);
    sizes.observe(element);
    update();
    return () => sizes.disconnect();
  }, [scroller]);
  const onScroll = () => {
    const element = scroller.current;
    if (element) setView({ scrollTop: element.scrollTop, height: element.clientHeight });
  };
  return { ...view, onScroll };
}

/** Paints after each render, when the canvas changes its size, and when the theme does. */
function usePaint(canvas: RefObject<HTMLCanvasElement | null>, paint: () => void): void {
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
function useWheel(
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

const DRAG_FROM_PX = 4;

/** A pointer that is pressed and moved takes the window of time with it. */
function useDrag(range: XRange, onMove: (from: XRange, shift: number) => void) {
  const began = useRef<{ x: number; range: XRange; width: number; isDrag: boolean } | null>(null);
  const [isOn, setIsOn] = useState(false);
  return {
    isOn,
    start: (event: PointerEvent<HTMLElement>) => {
      if (event.button !== 0) return;
      began.current = { x: event.clientX, range, width: event.currentTarget.clientWidth, isDrag: false };
    },
    move: (event: PointerEvent<HTMLElement>): boolean => {
      const from = began.current;
      if (!from) return false;
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
    end: () => {
      began.current = null;
      setIsOn(false);
    },
  };
}

interface Reading {
  timeline: Timeline;
  rows: readonly Row[];
  range: XRange;
}

function hotUnder(event: PointerEvent, { timeline, rows, range }: Reading): Hot | null {
  const plot = event.currentTarget.getBoundingClientRect();
  const scroller = event.currentTarget.closest<HTMLElement>(`.${styles.scroller}`);
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

/** Under the row, above it where there is no room; inside of the plot. */
function cardPlace(
  scroller: HTMLElement,
  plot: Element | null,
  left: number,
  row: Row,
): { left: number; top: number } {
  const [frame, at] = [
    scroller.getBoundingClientRect(),
    plot?.getBoundingClientRect() ?? scroller.getBoundingClientRect(),
  ];
  const offset = at.left - frame.left;
  const top = row.top - scroller.scrollTop;
  const isBelow = frame.top + top + row.height + CARD_HEIGHT_PX < window.innerHeight;
  return {
    left: Math.max(offset, Math.min(offset + left + 12, frame.width - CARD_PX - 8)),
    top: isBelow ? top + row.height + 6 : top - CARD_HEIGHT_PX - 6,
  };
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

interface Keys extends Reading {
  domain: XRange;
  hot: Hot | null;
  onRange: (range: XRange | null) => void;
  readSpan: (lane: number, span: Span) => void;
  close: () => void;
}

function keyAction(event: KeyboardEvent, keys: Keys): (() => void) | null {
  const { timeline, rows, range, domain, hot, onRange, readSpan, close } = keys;
  const span = range.to - range.from;
  const zoom = (factor: number) => () => onRange(zoomed(range, domain, null, factor));
  const pan = (by: number) => () => onRange(panned(range, domain, by * PAN_SHARE * span));
  const order = laneOrder(rows);
  const middle = (range.from + range.to) / 2;
  const first = () => {
    const lane = order[0];
    const found = lane === undefined ? null : spanAt(timeline, lane, middle);
    if (lane !== undefined && found) readSpan(lane, found);
  };
  const along = (by: 1 | -1) => () => {
    if (hot?.lane == null || !hot.span) first();
    else readSpan(hot.lane, neighbour(timeline, hot.lane, hot.span, by));
  };
  const across = (by: 1 | -1) => () => {
    if (hot?.lane == null || !hot.span) return first();
    const lane = order[order.indexOf(hot.lane) + by];
    const at = Math.min(Math.max((hot.span.from + hot.span.to) / 2, range.from), range.to);
    const found = lane === undefined ? null : spanAt(timeline, lane, at);
    if (lane !== undefined && found) readSpan(lane, found);
  };
  const actions: Record<string, () => void> = {
    "+": zoom(ZOOM),
    "=": zoom(ZOOM),
    "-": zoom(1 / ZOOM),
    "0": () => onRange(null),
    arrowleft: event.shiftKey ? pan(-1) : along(-1),
    arrowright: event.shiftKey ? pan(1) : along(1),
    arrowup: across(-1),
    arrowdown: across(1),
    enter: () => hot?.span && onRange(around(hot.span.from, hot.span.to, timeline.durationS)),
    escape: close,
  };
  return actions[event.key.toLowerCase()] ?? null;
}

interface RowFactsProps {
  row: Row;
  timeline: Timeline;
  range: XRange;
  onFold: (kind: string) => void;
}

/** The name of a row at its left, and at its right how busy it is in the window. */
function RowFacts({ row, timeline, range, onFold }: RowFactsProps) {
  const lanes = (row.type === "kind" ? row.lanes : [row.lane]).flatMap(
    (index) => timeline.lanes[index] ?? [],
  );
  const busy = lanes.reduce((sum, lane) => sum + busyFrac(lane, range.from, range.to), 0) / lanes.length;
  return (
    <div className={styles.row} style={{ top: row.top, height: row.height }} data-kind={row.type}>
      {row.type === "kind" ? (
        <button
          type="button"
          className={styles.fold}
          aria-expanded={!row.isFolded}
          onClick={() => onFold(row.kind)}
        >
          <Icon name={row.isFolded ? "right" : "down"} size={12} />
          <bdi>{formatCount(row.lanes.length, row.kind)}</bdi>
        </button>
      ) : (
        <bdi className={styles.actor} title={row.label}>
          {row.label}
        </bdi>
      )}
      <span className={styles.busy}>{formatPercent(busy)}</span>
    </div>
  );
}

function Card({ card, left, top }: { card: SpanCard; left: number; top: number }) {
  return (
    <div className={styles.card} style={{ left, top, width: CARD_PX }} aria-hidden="true">
      <div className={styles.cardHead}>
        {card.title}
        <bdi>{card.place}</bdi>
      </div>
      <dl className={styles.cardFacts}>
        {card.facts.map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
