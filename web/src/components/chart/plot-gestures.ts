/** What a hand does on a plot: click, double click, wheel, drag with Shift, one finger, two fingers. A drag without Shift
 * is uPlot's own: it selects a range. Called by `Plot` once the canvas is there. */
import type uPlot from "uplot";
import type { ChartGroup, XKind, XRange } from "./chart-group";
import { wheelMove } from "./wheel";
import { held, leastSpan, panned, zoomed } from "./zoom";

export interface GestureEvents {
  onZoom?: (range: XRange | null) => void;
  onChoose?: (x: number) => void;
}

/** A shorter way is a click. */
export const DRAG_PX = 6;
const DOUBLE_CLICK_MS = 250;

export function listen(u: uPlot, group: ChartGroup, events: GestureEvents): void {
  listenToClicks(u, group, events);
  const glide = (range: XRange | null) => group.glide(range, (rest) => events.onZoom?.(rest));
  listenToWheel(u, group, glide);
  listenToDrags(u, group, glide);
}

function listenToClicks(u: uPlot, group: ChartGroup, events: GestureEvents): void {
  let downX = 0;
  let timer = 0;
  u.over.addEventListener("mousedown", ({ clientX }) => {
    downX = clientX;
  });
  u.over.addEventListener("dblclick", () => {
    clearTimeout(timer);
    group.setZoom(null);
    events.onZoom?.(null);
  });
  u.over.addEventListener("click", (event) => {
    if (Math.abs(event.clientX - downX) >= DRAG_PX || event.detail > 1) return;
    // A finger has no hover: its tap reads the value.
    if (event instanceof PointerEvent && event.pointerType === "touch") return;
    const x = group.cursor;
    const choose = () => x !== null && events.onChoose?.(x);
    // Only where there is something to zoom out of may the first click be half of a double one.
    if (group.isZoomed) timer = window.setTimeout(choose, DOUBLE_CLICK_MS);
    else choose();
  });
}

type Glide = (range: XRange | null) => void;

function listenToWheel(u: uPlot, group: ChartGroup, glide: Glide): void {
  const onWheel = (event: WheelEvent) => {
    const range = group.range();
    const whole = group.domain ?? range;
    const move = wheelMove(event, u.over.clientWidth);
    // Of a chart that shows all there is nothing to move: the page may scroll sideways.
    if (!move || (move.kind === "pan" && !group.isZoomed)) return;
    event.preventDefault();
    if (move.kind === "pan") glide(panned(range, whole, move.share * (range.to - range.from)));
    else glide(zoomed(range, whole, valueAt(u, range, event), move.factor, leastSpan(group.xKind)));
  };
  u.over.addEventListener("wheel", onWheel, { passive: false });
}

function valueAt(u: uPlot, range: XRange, { clientX }: { clientX: number }): number {
  return range.from + shareAt(u, clientX) * (range.to - range.from);
}

function shareAt(u: uPlot, clientX: number): number {
  const { left, width } = u.over.getBoundingClientRect();
  return (clientX - left) / Math.max(1, width);
}

/** The pointers that hold the plot: where they took it, on which axis, and where they are. */
interface Hold {
  kind: XKind;
  range: XRange;
  began: Map<number, number>;
  now: Map<number, number>;
}

function listenToDrags(u: uPlot, group: ChartGroup, glide: Glide): void {
  let hold: Hold | null = null;
  const take = (pointers: Map<number, number>) => {
    const { xKind: kind } = group;
    const isHeld = pointers.size > 0;
    hold = isHeld ? { kind, range: group.range(), began: new Map(pointers), now: new Map(pointers) } : null;
    u.over.toggleAttribute("data-held", hold !== null);
  };
  u.over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !(event.pointerType === "touch" || event.shiftKey)) return;
    if (event.pointerType !== "touch") u.over.setPointerCapture(event.pointerId);
    take(new Map(hold?.now).set(event.pointerId, shareAt(u, event.clientX)));
  });
  u.over.addEventListener("pointermove", (event) => {
    if (!hold?.now.has(event.pointerId)) return;
    // It was let go where no page hears it.
    if (event.buttons === 0) return release(event);
    hold.now.set(event.pointerId, shareAt(u, event.clientX));
    // One finger on a chart that shows all reads it. A range of another axis means nothing on this one.
    if ((hold.now.size === 1 && !group.isZoomed) || hold.kind !== group.xKind) return;
    const whole = group.domain ?? hold.range;
    glide(held(hold.range, whole, [...hold.began.values()], [...hold.now.values()], leastSpan(group.xKind)));
  });
  const release = (event: PointerEvent) => {
    if (!hold?.now.has(event.pointerId)) return;
    const left = new Map(hold.now);
    left.delete(event.pointerId);
    take(left);
  };
  u.over.addEventListener("pointerup", release);
  u.over.addEventListener("pointercancel", release);
}
