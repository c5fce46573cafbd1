import { expect, test } from "vitest";
import { schedule } from "./factories";
import { gridGeometry, moveTo, pieceAt, rankOrder, startsOf } from "./grid-geometry";

const TWO_RANKS = schedule([
  [[40, 20], [30]],
  [[60], []],
]);

test("boxes are to scale on one axis, and end where the rank is done", () => {
  const { ranks, barrierS } = gridGeometry(TWO_RANKS, "measured");
  expect(barrierS).toBeCloseTo(0.09);
  expect(
    ranks[0]?.cells.map(({ left, width }) => [left, width].map((part) => Number(part.toFixed(3)))),
  ).toEqual([
    [0, 0.667],
    [0.667, 0.333],
  ]);
  expect(ranks[0]?.end).toBeCloseTo(1);
  expect(ranks[1]?.idleFrac).toBeCloseTo(1 / 3);
  expect(ranks.map(({ numSamples, tokens }) => [numSamples, tokens])).toEqual([
    [3, 90],
    [1, 60],
  ]);
});

test("samples stand longest first, each as wide as its cost", () => {
  const late = schedule([[[20, 40]]]);
  expect(gridGeometry(late, "measured").ranks[0]?.cells[0]?.pieces).toEqual([
    { sample: 1, left: 0, width: 40 / 60 },
    { sample: 0, left: 40 / 60, width: 20 / 60 },
  ]);
});

test("a dummy is empty; a micro-batch above the cap is told", () => {
  const { ranks } = gridGeometry(schedule([[[300]], [[]]]), "measured");
  expect(ranks[0]?.cells[0]).toMatchObject({ isOverCap: true, isDummy: false });
  expect(ranks[1]?.cells[0]).toMatchObject({ isOverCap: false, isDummy: true, width: 0 });
  expect(
    gridGeometry(schedule([[[300]]], { token_cap: null }), "measured").ranks[0]?.cells[0]?.isOverCap,
  ).toBe(false);
});

test("predicted widths share the axis of the measured ones", () => {
  const slow = schedule([[[50]], [[50]]], { measured_s: [[0.15], [0.05]] });
  expect(gridGeometry(slow, "measured").barrierS).toBeCloseTo(0.15);
  expect(gridGeometry(slow, "predicted").barrierS).toBeCloseTo(0.1);
});

test("a step that was not timed is drawn by its prediction", () => {
  const { ranks } = gridGeometry(schedule([[[50]], [[25]]], { measured_s: [[0], [0]] }), "measured");
  expect(ranks.map(({ end }) => end)).toEqual([1, 0.5]);
});

test("every sample has its place", () => {
  const { places, ranks } = gridGeometry(TWO_RANKS, "measured");
  expect(places).toHaveLength(4);
  places.forEach(({ rank, cell, piece }, sample) => {
    expect(ranks[rank]?.cells[cell]?.pieces[piece]?.sample).toBe(sample);
  });
});

test("a point of a lane finds its sample, and nothing over idle time", () => {
  const { ranks } = gridGeometry(TWO_RANKS, "measured");
  const rank = (i: number) => ranks[i] as NonNullable<(typeof ranks)[number]>;
  expect(pieceAt(rank(0), 0.1)).toEqual({ rank: 0, cell: 0, piece: 0 });
  expect(pieceAt(rank(0), 0.6)).toEqual({ rank: 0, cell: 0, piece: 1 });
  expect(pieceAt(rank(0), 0.9)).toEqual({ rank: 0, cell: 1, piece: 0 });
  expect(pieceAt(rank(1), 0.9)).toBeNull();
});

test("keys go along a rank and to the sample that runs at the same time on the next", () => {
  const geometry = gridGeometry(TWO_RANKS, "measured");
  const order = rankOrder(geometry.ranks);
  const from = { rank: 0, cell: 1, piece: 0 };
  expect(moveTo(geometry, order, from, "left")).toEqual({ rank: 0, cell: 0, piece: 1 });
  expect(moveTo(geometry, order, from, "right")).toEqual(from);
  expect(moveTo(geometry, order, from, "home")).toEqual({ rank: 0, cell: 0, piece: 0 });
  expect(moveTo(geometry, order, from, "down")).toEqual({ rank: 1, cell: 0, piece: 0 });
  expect(moveTo(geometry, order, from, "up")).toEqual(from);
});

test("keys pass over a rank of dummies", () => {
  const geometry = gridGeometry(schedule([[[10]], [[]], [[10]]]), "measured");
  const to = moveTo(geometry, rankOrder(geometry.ranks), { rank: 0, cell: 0, piece: 0 }, "down");
  expect(to).toEqual({ rank: 2, cell: 0, piece: 0 });
});

test("of many ranks the latest and earliest are opened", () => {
  const many = schedule(Array.from({ length: 40 }, (_, rank) => [[rank + 1]]));
  const order = rankOrder(gridGeometry(many, "measured").ranks);
  expect(order[0]).toEqual({ rank: 39, isOpen: true });
  expect(order.filter(({ isOpen }) => isOpen)).toHaveLength(16);
  expect(order[20]?.isOpen).toBe(false);
  expect(rankOrder(gridGeometry(TWO_RANKS, "measured").ranks).every(({ isOpen }) => isOpen)).toBe(true);
});

test("with a barrier at every micro-batch each begins when the slowest rank's one before it has ended", () => {
  const seconds = [
    [4, 2],
    [3, 1],
  ];
  expect(startsOf(seconds, "step")).toEqual([
    [0, 4],
    [0, 3],
  ]);
  expect(startsOf(seconds, "micro_batch")).toEqual([
    [0, 4],
    [0, 4],
  ]);
});

test("a pipeline waits for its stages as well, as the record tells", () => {
  const piped = schedule(
    [
      [[60], [40]],
      [[50], [50]],
    ],
    { pp: 2 },
  );
  const told = { measured_idle_frac: 0.5, predicted_idle_frac: 0.2 };
  const { barrierS, ranks } = gridGeometry(piped, "measured", told);
  expect(barrierS).toBeCloseTo(0.2);
  expect(ranks.map(({ idleFrac }) => idleFrac)).toEqual([expect.closeTo(0.5), expect.closeTo(0.5)]);
  expect(gridGeometry(piped, "predicted", told).barrierS).toBeCloseTo(0.125);
  expect(gridGeometry({ ...piped, pp: 1 }, "measured", told).barrierS).toBeCloseTo(0.1);
});
