/** All there is on the x axis of a page, from the tracks that every step is in. Pure. */
import type { XKind, XRange } from "./chart-group";
import type { Columns, MetricTrack } from "./metric-track";

/** From the first x to where the last step ends: on an axis of steps a step is as wide as 1. Null while not known, as the
 * whole of a part that a link opened is not at first. */
export function domainOf(tracks: readonly MetricTrack[], kind: XKind): XRange | null {
  const known = tracks.flatMap(({ isOpen, whole, columns }): Columns[] =>
    whole ? [whole] : isOpen ? [columns] : [],
  );
  const ends = known.flatMap((columns) => {
    const [from, to] = [columns.x[0], endOf(columns, kind)];
    return from === undefined || to === undefined ? [] : [{ from, to }];
  });
  if (ends.length === 0) return null;
  return { from: Math.min(...ends.map(({ from }) => from)), to: Math.max(...ends.map(({ to }) => to)) };
}

/** Where what the last point tells ends. */
export function endOf({ x, lastStep }: Columns, kind: XKind): number | undefined {
  const [last, step] = [x[x.length - 1], lastStep[lastStep.length - 1]];
  return kind === "step" && step !== undefined ? step + 1 : last;
}
