import { expect, test } from "vitest";
import { cutInside, keptApart, placed } from "./end-labels";

function at(...ys: number[]) {
  return ys.map((y, i) => ({ text: `${i}`, colour: "", x: 0, y }));
}

const WIDE = { top: -100, bottom: 200 };

test("labels at an edge part inwards", () => {
  expect(keptApart(at(0, 0, 0), 13, { top: 0, bottom: 100 }).map(({ y }) => y)).toEqual([0, 13, 26]);
  expect(keptApart(at(100, 99, 20), 13, { top: 0, bottom: 100 }).map(({ y }) => y)).toEqual([20, 87, 100]);
});

test("labels with room stay where they are", () => {
  expect(keptApart(at(10, 40), 13, WIDE).map(({ y }) => y)).toEqual([10, 40]);
});

test("labels that would touch part about their middle, in order", () => {
  const apart = keptApart(at(21, 20, 20), 13, WIDE);
  expect(apart.map(({ text }) => text)).toEqual(["1", "2", "0"]);
  const ys = apart.map(({ y }) => y);
  expect((ys[1] ?? 0) - (ys[0] ?? 0)).toBeGreaterThanOrEqual(13);
  expect((ys[2] ?? 0) - (ys[1] ?? 0)).toBeGreaterThanOrEqual(13);
  expect(ys.reduce((sum, y) => sum + y, 0)).toBeCloseTo(61);
});

test("a name that is too long keeps its beginning and its end", () => {
  expect(cutInside("spell-backward-grpo", 9)).toBe("spell…grpo");
  expect(cutInside("spell-backward-grpo", 2)).toBe("s…o");
});

const ROOM = { top: 0, bottom: 100, right: 200, distance: 13 };

test("the name of a line that ends early stands over its end, and moves no other", () => {
  const labels = [
    { text: "early", colour: "", x: 80, y: 50 },
    { text: "late", colour: "", x: 200, y: 50 },
  ];
  expect(placed(labels, ROOM).map(({ text, y, end }) => [text, y, end])).toEqual([
    ["late", 50, null],
    ["early", 37, { x: 80, y: 50 }],
  ]);
});

test("at the top it stands under it, and beside another early one apart from it", () => {
  const early = (x: number, y: number) => ({ text: `${x}`, colour: "", x, y });
  expect(placed([early(80, 2)], ROOM).map(({ y }) => y)).toEqual([15]);
  const ys = placed([early(80, 50), early(90, 52)], ROOM).map(({ y }) => y);
  expect(Math.abs((ys[0] ?? 0) - (ys[1] ?? 0))).toBeGreaterThanOrEqual(13);
});

test("long names of ends that lie apart are kept apart as well", () => {
  const long = (x: number) => ({ text: "spell-backward-grpo", colour: "", x, y: 50 });
  const ys = placed([long(60), long(140)], ROOM).map(({ y }) => y);
  expect(Math.abs((ys[0] ?? 0) - (ys[1] ?? 0))).toBeGreaterThanOrEqual(13);
});
