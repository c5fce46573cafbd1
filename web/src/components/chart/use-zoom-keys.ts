/** Keys that zoom and move the charts of a page, wherever the focus is. */
import { useShortcuts } from "@/lib/shortcuts";
import type { ChartGroup, XRange } from "./chart-group";
import { leastSpan, panned, zoomed } from "./zoom";

const ZOOM = 0.5;
/** Of what is shown, for each press. */
const PAN_SHARE = 0.2;

/** `onZoom` is told once a key that is held down is let go. */
export function useZoomKeys(group: ChartGroup, onZoom: (range: XRange | null) => void): void {
  const zoom = (factor: number) => {
    const range = group.range();
    // Opened by a link to a part, the page does not know the whole at first: further out is all of it.
    const domain = group.domain ?? (group.isZoomed ? range : null);
    if (domain) group.glide(zoomed(range, domain, group.cursor, factor, leastSpan(group.xKind)), onZoom);
  };
  const pan = (share: number) => {
    const range = group.range();
    if (!group.isZoomed || !group.domain) return;
    group.glide(panned(range, group.domain, share * (range.to - range.from)), onZoom);
  };
  useShortcuts({
    "+": () => zoom(ZOOM),
    "=": () => zoom(ZOOM),
    "-": () => zoom(1 / ZOOM),
    "0": () => {
      // The address may not know of the range yet.
      group.setZoom(null);
      onZoom(null);
    },
    ",": () => pan(-PAN_SHARE),
    ".": () => pan(PAN_SHARE),
  });
}
