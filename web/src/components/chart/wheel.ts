/** What a turn of the wheel asks for, over charts and over the timeline alike. Pure. */

/** Zoom by a factor of the range, or move by a share of it; null: the page scrolls. */
export type WheelMove = { kind: "zoom"; factor: number } | { kind: "pan"; share: number } | null;

export type Wheel = Pick<
  WheelEvent,
  "ctrlKey" | "metaKey" | "altKey" | "shiftKey" | "deltaX" | "deltaY" | "deltaMode"
>;

const ZOOM_PER_PX = 1.0018;
/** A wheel that counts lines or pages instead of pixels. */
const PX_OF_MODE = [1, 16, 400];

/** Zoom with Ctrl, Cmd or Alt, as trackpads tell a pinch; sideways, or with Shift, move over `widthPx`. */
export function wheelMove(wheel: Wheel, widthPx: number): WheelMove {
  const px = PX_OF_MODE[wheel.deltaMode] ?? 1;
  if (wheel.ctrlKey || wheel.metaKey || wheel.altKey) {
    return { kind: "zoom", factor: ZOOM_PER_PX ** (wheel.deltaY * px) };
  }
  // Some browsers turn Shift and the wheel into a sideways one themselves.
  const across = wheel.shiftKey && wheel.deltaX === 0 ? wheel.deltaY : wheel.deltaX;
  if (across === 0 || Math.abs(across) <= Math.abs(wheel.shiftKey ? 0 : wheel.deltaY)) return null;
  return { kind: "pan", share: (across * px) / Math.max(1, widthPx) };
}
