/** Where the bands of the flow picture lie, in px from its top. Bands are as high as their share, their labels never
 * overlap. Pure. */
import type { Account, Books } from "./accounts";

export interface Band {
  account: Account;
  /** At the outer edge, beside its label. */
  top: number;
  height: number;
  /** At the bar in the middle. */
  barTop: number;
  barHeight: number;
}

export interface FlowLayout {
  ins: Band[];
  outs: Band[];
  height: number;
  bar: { top: number; height: number };
}

const BAR_PX = 168;
const LABEL_PX = 34;
const GAP_PX = 6;
/** So that one rollout among thousands is still seen. */
const LEAST_PX = 2;

export function flowLayout(books: Books): FlowLayout {
  const most = Math.max(books.numIn, books.numOut, 1);
  const [ins, outs] = [sideOf(books.ins, most), sideOf(books.outs, most)];
  const height = Math.max(BAR_PX, heightOf(ins), heightOf(outs));
  const barTop = (height - BAR_PX) / 2;
  return {
    ins: shifted(ins, (height - heightOf(ins)) / 2, barTop),
    outs: shifted(outs, (height - heightOf(outs)) / 2, barTop),
    height,
    bar: { top: barTop, height: BAR_PX },
  };
}

/** Accounts without rollouts have no band. */
function sideOf(accounts: readonly Account[], most: number): Band[] {
  const bands: Band[] = [];
  let [edge, bar] = [0, 0];
  for (const account of accounts.filter(({ count }) => count > 0)) {
    const barHeight = (account.count / most) * BAR_PX;
    const height = Math.max(LEAST_PX, barHeight);
    const slot = Math.max(LABEL_PX, height);
    bands.push({ account, top: edge + (slot - height) / 2, height, barTop: bar, barHeight });
    edge += slot + GAP_PX;
    bar += barHeight;
  }
  return bands;
}

function heightOf(bands: readonly Band[]): number {
  const last = bands.at(-1);
  if (!last) return 0;
  const slack = Math.max(0, LABEL_PX - last.height) / 2;
  return last.top + last.height + slack;
}

function shifted(bands: readonly Band[], by: number, barBy: number): Band[] {
  return bands.map((band) => ({ ...band, top: band.top + by, barTop: band.barTop + barBy }));
}

/** A band between two edges as an SVG path; x from 0 to `width`. */
export function bandPath(
  left: { top: number; height: number },
  right: { top: number; height: number },
  width: number,
): string {
  const middle = width / 2;
  const [a, b] = [left.top, right.top];
  const [c, d] = [right.top + Math.max(1, right.height), left.top + Math.max(1, left.height)];
  return (
    `M0 ${a}C${middle} ${a} ${middle} ${b} ${width} ${b}` +
    `L${width} ${c}C${middle} ${c} ${middle} ${d} 0 ${d}Z`
  );
}
