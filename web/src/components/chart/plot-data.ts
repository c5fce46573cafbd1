/** The tracks of a plot as uPlot takes them: one ascending x, a column for each line and each average. Pure. */
import type uPlot from "uplot";
import type { XKind, XRange } from "./chart-group";
import { endOf } from "./domain";
import { holds, isLog, type PlotConfig, type PlotLine } from "./plot-config";
import type { Column } from "./plot-series";
import { joinColumns, positiveOnly, smooth } from "./series-math";

export interface PlotData {
  aligned: uPlot.AlignedData;
  /** Points that a logarithmic axis can't hold. */
  hidden: number;
  isEmpty: boolean;
}

/** The columns of a plot in the order in which they are drawn. */
export function columnsOf({ lines, view }: PlotConfig): Column[] {
  return lines.flatMap((line): Column[] => {
    const raw = { line, smoothed: false };
    return view.smoothing > 0 && line.kind === "line" ? [raw, { line, smoothed: true }] : [raw];
  });
}

export function dataOf(config: PlotConfig, columns: readonly Column[], kind: XKind): PlotData {
  let hidden = 0;
  const parts = columns.map(({ line, smoothed }): Part => {
    const { drawn } = line.track;
    const values = smoothed ? smooth(drawn, config.view.smoothing) : drawn.value;
    const part = heldToItsEnd({ x: drawn.x, values }, line, kind);
    if (!isLog(config, line.side)) return part;
    // What stands around a part is not what is asked for.
    if (!smoothed && line.kind !== "floor") hidden += positiveOnly(line.track.columns.value).hidden;
    return { x: part.x, values: positiveOnly(part.values).values };
  });
  const shared = parts.every(({ x }) => x === parts[0]?.x);
  const joined = shared
    ? { x: parts[0]?.x ?? [], columns: parts.map(({ values }) => values) }
    : joinColumns(parts);
  return {
    aligned: [joined.x, ...joined.columns] as uPlot.AlignedData,
    hidden,
    isEmpty: joined.x.length === 0,
  };
}

/** Without what lies beyond a point at the very edge of the range: nothing of it is in the picture but half a pen's width,
 * which stands upright where the next value is far off. */
export function cutAtEdges(aligned: uPlot.AlignedData, { from, to }: XRange): uPlot.AlignedData {
  const x = aligned[0];
  const [first, last] = [x.indexOf(from), x.lastIndexOf(to)];
  if (first <= 0 && (last < 0 || last === x.length - 1)) return aligned;
  const end = last < 0 ? x.length : last + 1;
  return aligned.map((column) => column.slice(Math.max(0, first), end)) as uPlot.AlignedData;
}

interface Part {
  x: readonly number[];
  values: readonly (number | null)[];
}

/** A value that holds until the next point holds to the end of its step when there is no next one. */
function heldToItsEnd(part: Part, line: PlotLine, kind: XKind): Part {
  const [end, last] = [endOf(line.track.drawn, kind), part.x[part.x.length - 1]];
  if (!holds(line) || end === undefined || last === undefined || end <= last) {
    return part;
  }
  return { x: [...part.x, end], values: [...part.values, part.values[part.values.length - 1] ?? null] };
}

/** How far the pen goes up and down along a line within [from, to], in units of the axis; decades of a logarithmic one. */
export function wayOf(line: PlotLine, { from, to }: XRange, log: boolean): number {
  const { x, value } = line.track.drawn;
  let way = 0;
  let before: number | null = null;
  for (let i = 0; i < x.length; i++) {
    const at = x[i] as number;
    const here = value[i];
    if (at < from || at > to || here == null || (log && here <= 0)) continue;
    const y = log ? Math.log10(here) : here;
    if (before !== null) way += Math.abs(y - before);
    before = y;
  }
  return way;
}
