/** Which rows the timeline has and how high they are: a lane per actor, kinds of many actors folded into one. Pure. */
import type { Lane } from "./timeline-model";

export type Row =
  | { type: "lane"; top: number; height: number; lane: number; label: string }
  | {
      type: "kind";
      top: number;
      height: number;
      kind: string;
      /** Indices of its lanes. */
      lanes: number[];
      isFolded: boolean;
    };

const LANE_PX = 26;
/** Few lanes have room to be read from afar. */
const WIDE_LANE_PX = 38;
const WIDE_UP_TO = 12;
/** Lanes of so many actors that nobody reads them one by one. */
const THIN_LANE_PX = 16;
const THIN_FROM = 48;
const KIND_PX = 26;
const FOLDED_PX = 56;
/** Kinds of more actors than this begin folded. */
const FOLDED_FROM = 25;

export function kindsFoldedAtFirst(lanes: readonly Lane[]): string[] {
  return [...byKind(lanes)].filter(([, own]) => own.length >= FOLDED_FROM).map(([kind]) => kind);
}

export function rowsOf(lanes: readonly Lane[], folded: readonly string[]): { rows: Row[]; height: number } {
  const rows: Row[] = [];
  const isFew = lanes.length <= WIDE_UP_TO;
  let top = 0;
  const push = (row: Row) => {
    rows.push(row);
    top += row.height;
  };
  for (const [kind, own] of byKind(lanes)) {
    const isFolded = own.length > 1 && folded.includes(kind);
    const height = isFolded ? FOLDED_PX : KIND_PX;
    if (own.length > 1) push({ type: "kind", top, height, kind, lanes: own, isFolded });
    if (isFolded) continue;
    const laneHeight = isFew ? WIDE_LANE_PX : own.length >= THIN_FROM ? THIN_LANE_PX : LANE_PX;
    for (const lane of own) {
      push({ type: "lane", top, height: laneHeight, lane, label: lanes[lane]?.actor ?? "" });
    }
  }
  return { rows, height: top };
}

function byKind(lanes: readonly Lane[]): Map<string, number[]> {
  const kinds = new Map<string, number[]>();
  lanes.forEach(({ kind }, i) => {
    kinds.set(kind, [...(kinds.get(kind) ?? []), i]);
  });
  return kinds;
}

/** The row at this height; null below the last one. */
export function rowAt(rows: readonly Row[], y: number): Row | null {
  return rows.find(({ top, height }) => y >= top && y < top + height) ?? null;
}

/** Rows that a window of this height shows, from its top on. */
export function rowsIn(rows: readonly Row[], top: number, height: number): Row[] {
  return rows.filter((row) => row.top + row.height > top && row.top < top + height);
}

/** Rows of lanes only, in their order. */
export function laneOrder(rows: readonly Row[]): number[] {
  return rows.flatMap((row) => (row.type === "lane" ? [row.lane] : []));
}
