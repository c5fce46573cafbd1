import { expect, test } from "vitest";
import { spacedMarks, withAlpha } from "./paint";

test("an opacity is added to a colour of the tokens", () => {
  expect(withAlpha("#0B6E99", 0.17)).toBe("#0B6E992b");
  expect(withAlpha("rebeccapurple", 0.5)).toBe("rebeccapurple");
});

test("marks that would lie on each other are drawn once, each kind for itself", () => {
  const marks = [
    { x: 0, kind: "NaN" as const },
    { x: 3, kind: "NaN" as const },
    { x: 4, kind: "Infinity" as const },
    { x: 10, kind: "NaN" as const },
  ];
  expect(spacedMarks(marks, (x) => x, 9).map(({ x }) => x)).toEqual([0, 4, 10]);
});
