import { expect, test } from "vitest";
import { type CardRoom, placeCard } from "./card-place";

const CARD = { width: 272, height: 250 };

function room(given: Partial<CardRoom> = {}): CardRoom {
  return {
    sample: { left: 100, right: 140, top: 40, bottom: 90 },
    grid: { width: 1000, height: 500 },
    lanesRight: 640,
    view: { top: -200, bottom: 700 },
    card: CARD,
    ...given,
  };
}

test("under the sample where there is room, over it where only there is", () => {
  expect(placeCard(room())).toEqual({ left: 100, top: 98 });
  expect(placeCard(room({ sample: { left: 100, right: 140, top: 400, bottom: 450 } })).top).toBe(142);
  expect(placeCard(room({ view: { top: -200, bottom: 300 } })).top).toBeGreaterThanOrEqual(0);
});

test("it hides neither the figures beside the lanes nor the controls above the grid", () => {
  const atEnd = { left: 600, right: 630, top: 40, bottom: 90 };
  expect(placeCard(room({ sample: atEnd }))).toEqual({ left: 640 - CARD.width, top: 98 });
  const low = room({ grid: { width: 1000, height: 160 }, view: { top: -500, bottom: 200 } });
  expect(placeCard(low).top).toBe(0);
  expect(placeCard(low).left).toBe(148);
  expect(placeCard({ ...low, view: { top: -500, bottom: Number.POSITIVE_INFINITY } }).top).toBe(98);
});

test("a sample as wide as the lanes has it below, though that is out of view", () => {
  const wide = { left: 10, right: 900, top: 40, bottom: 90 };
  expect(placeCard(room({ sample: wide, view: { top: 0, bottom: 200 } }))).toEqual({ left: 10, top: 98 });
});
