/** From a step's schedule to boxes on a common time axis. Pure; fractions are of the time from start to barrier.
 *
 *      rank 0   ┌──────┬──┐┌─────┬───┐┄┄┄┄┄┄  idle
 *               │ s3   │s7││ s1  │s9 │
 *      rank 1   └──────┴──┘└─────┴───┘
 *               cell 0      cell 1          end      barrier (1)
 */
import type { Schedule, StepRow } from "@/api/types";
import type { Width } from "./schedule-search";

/** A sample inside its micro-batch: fractions of the micro-batch's box. */
export interface Piece {
  sample: number;
  left: number;
  width: number;
}

export interface Cell {
  index: number;
  left: number;
  width: number;
  isDummy: boolean;
  tokens: number;
  /** Positions computed that hold no token; 0 too where they were not told. */
  padding: number;
  isOverCap: boolean;
  pieces: Piece[];
}

export interface Rank {
  rank: number;
  cells: Cell[];
  /** Where the rank is done. */
  end: number;
  busyS: number;
  idleFrac: number;
  numSamples: number;
  tokens: number;
}

export interface Place {
  rank: number;
  cell: number;
  piece: number;
}

export interface GridGeometry {
  ranks: Rank[];
  /** Seconds from the start to the barrier: measured, or predicted and scaled to the measured total. */
  barrierS: number;
  /** Of each sample, by its index within the step. */
  places: Place[];
}

const UNTOLD: IdleShares = { measured_idle_frac: null, predicted_idle_frac: null };

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Seconds per unit of predicted cost, so that both widths have one axis; 1 where nothing was measured. */
export function secondsPerCost(schedule: Schedule): number {
  const measured = sum(schedule.measured_s.map(sum));
  const predicted = sum(schedule.predicted_cost.map(sum));
  return measured > 0 && predicted > 0 ? measured / predicted : 1;
}

/** Seconds of each micro-batch, [rank][micro-batch]. */
export function durations(schedule: Schedule, width: Width): number[][] {
  const hasMeasured = schedule.measured_s.some((rank) => rank.some((seconds) => seconds > 0));
  if (width === "measured" && hasMeasured) return schedule.measured_s;
  const scale = secondsPerCost(schedule);
  return schedule.predicted_cost.map((rank) => rank.map((cost) => cost * scale));
}

/** When each micro-batch begins, [rank][micro-batch]: behind the one before it, or, with a barrier at every
 * micro-batch, behind the slowest rank's one before it. */
export function startsOf(lengths: readonly (readonly number[])[], barrier: Schedule["barrier"]): number[][] {
  const slowest = lengths.reduce<number[]>(
    (most, own) => own.map((length, i) => Math.max(length, most[i] ?? 0)),
    [],
  );
  return lengths.map((own) => {
    let start = 0;
    return own.map((length, i) => {
      const begins = start;
      start += barrier === "micro_batch" ? (slowest[i] ?? length) : length;
      return begins;
    });
  });
}

/** Shares of the ranks' time in which they wait, a pipeline's fill and drain included. */
export type IdleShares = Pick<StepRow, "measured_idle_frac" | "predicted_idle_frac">;

/** How long a pipeline takes: its stages wait for each other too, which the times of micro-batches do not show. */
function pipelineS(schedule: Schedule, width: Width, seconds: readonly number[][], idle: IdleShares): number {
  if (schedule.pp === 1) return 0;
  const isMeasured = seconds === schedule.measured_s && width === "measured";
  const share = (isMeasured ? idle.measured_idle_frac : idle.predicted_idle_frac) ?? 0;
  const trains = (rank: number, k: number) =>
    isMeasured || (schedule.micro_batches[rank]?.[k]?.length ?? 0) > 0;
  const busy = sum(seconds.map((own, rank) => sum(own.filter((_, k) => trains(rank, k)))));
  return share < 1 ? busy / seconds.length / (1 - share) : 0;
}

export function gridGeometry(schedule: Schedule, width: Width, idle: IdleShares = UNTOLD): GridGeometry {
  const seconds = durations(schedule, width);
  const starts = startsOf(seconds, schedule.barrier);
  const ends = seconds.map((own, rank) => (starts[rank]?.at(-1) ?? 0) + (own.at(-1) ?? 0));
  const barrierS = Math.max(pipelineS(schedule, width, seconds, idle), ...ends);
  const places: Place[] = [];
  const ranks = schedule.micro_batches.map((microBatches, rank): Rank => {
    const own = seconds[rank] ?? [];
    const busyS = sum(own);
    const cells = microBatches.map((samples, index): Cell => {
      const positions = schedule.num_positions[rank]?.[index] ?? 0;
      const at = { index, start: starts[rank]?.[index] ?? 0, duration: own[index] ?? 0, barrierS, positions };
      const cell = cellOf(schedule, samples, at);
      cell.pieces.forEach(({ sample }, piece) => {
        places[sample] = { rank, cell: index, piece };
      });
      return cell;
    });
    return {
      rank,
      cells,
      end: barrierS > 0 ? (ends[rank] ?? 0) / barrierS : 0,
      busyS,
      idleFrac: barrierS > 0 ? 1 - busyS / barrierS : 0,
      numSamples: sum(microBatches.map(({ length }) => length)),
      tokens: sum(cells.map(({ tokens }) => tokens)),
    };
  });
  return { ranks, barrierS, places };
}

function cellOf(
  schedule: Schedule,
  samples: readonly number[],
  at: { index: number; start: number; duration: number; barrierS: number; positions: number },
): Cell {
  const { samples: columns, sample_cost, token_cap } = schedule;
  const tokens = sum(samples.map((sample) => columns.num_tokens[sample] ?? 0));
  const part = (value: number) => (at.barrierS > 0 ? value / at.barrierS : 0);
  return {
    index: at.index,
    left: part(at.start),
    width: part(at.duration),
    isDummy: samples.length === 0,
    tokens,
    padding: Math.max(0, at.positions - tokens),
    isOverCap: token_cap !== null && tokens > token_cap,
    pieces: piecesOf(samples, sample_cost),
  };
}

/** Longest first; each as wide as its share of the micro-batch's cost. */
export function piecesOf(samples: readonly number[], cost: readonly number[]): Piece[] {
  const total = sum(samples.map((sample) => cost[sample] ?? 0));
  const share = (sample: number) => (total > 0 ? (cost[sample] ?? 0) / total : 1 / samples.length);
  let left = 0;
  return [...samples]
    .sort((a, b) => (cost[b] ?? 0) - (cost[a] ?? 0) || a - b)
    .map((sample) => {
      const piece = { sample, left, width: share(sample) };
      left += piece.width;
      return piece;
    });
}

/** The piece under a point of a lane, `at` from 0 to 1; null over idle time and dummies. */
export function pieceAt(rank: Rank, at: number): Place | null {
  const cell = rank.cells.find(({ left, width, isDummy }) => !isDummy && at >= left && at < left + width);
  if (!cell) return null;
  const inside = (at - cell.left) / cell.width;
  const piece = cell.pieces.findLastIndex(({ left }) => left <= inside);
  return { rank: rank.rank, cell: cell.index, piece: Math.max(0, piece) };
}

/** Rows of a grid of many ranks: the earliest and latest ends are opened, the rest is thin. */
export interface RankOrder {
  rank: number;
  isOpen: boolean;
}

export const MANY_RANKS = 32;
const OPENED = 8;

/** By number; of more than 32 ranks by end, latest first, with the 8 latest and 8 earliest opened. */
export function rankOrder(ranks: readonly Rank[]): RankOrder[] {
  if (ranks.length <= MANY_RANKS) return ranks.map(({ rank }) => ({ rank, isOpen: true }));
  const byEnd = [...ranks].sort((a, b) => b.end - a.end || a.rank - b.rank);
  return byEnd.map(({ rank }, i) => ({ rank, isOpen: i < OPENED || i >= byEnd.length - OPENED }));
}

export type Move = "up" | "down" | "left" | "right" | "home" | "end";

/** The sample to go to: left and right along a rank, up and down to the sample nearest in time. */
export function moveTo(geometry: GridGeometry, order: readonly RankOrder[], from: Place, move: Move): Place {
  if (move === "up" || move === "down") return toRank(geometry, order, from, move === "up" ? -1 : 1);
  const along = samplesAlong(geometry.ranks[from.rank] as Rank);
  const now = along.findIndex(({ cell, piece }) => cell === from.cell && piece === from.piece);
  const to = { left: now - 1, right: now + 1, home: 0, end: along.length - 1 }[move];
  return along[Math.min(along.length - 1, Math.max(0, to))] ?? from;
}

function samplesAlong(rank: Rank): Place[] {
  return rank.cells.flatMap(({ index, pieces }) =>
    pieces.map((_, piece) => ({ rank: rank.rank, cell: index, piece })),
  );
}

function toRank(geometry: GridGeometry, order: readonly RankOrder[], from: Place, by: 1 | -1): Place {
  const middle = middleOf(geometry, from);
  // A rank of dummies only has nowhere to go to.
  for (let row = order.findIndex(({ rank }) => rank === from.rank) + by; order[row]; row += by) {
    const along = samplesAlong(geometry.ranks[order[row]?.rank ?? 0] as Rank);
    const nearest = along.reduce<Place | null>(
      (best, place) =>
        best === null ||
        Math.abs(middleOf(geometry, place) - middle) < Math.abs(middleOf(geometry, best) - middle)
          ? place
          : best,
      null,
    );
    if (nearest) return nearest;
  }
  return from;
}

function middleOf({ ranks }: GridGeometry, { rank, cell, piece }: Place): number {
  const box = ranks[rank]?.cells[cell];
  const part = box?.pieces[piece];
  return box && part ? box.left + box.width * (part.left + part.width / 2) : 0;
}
