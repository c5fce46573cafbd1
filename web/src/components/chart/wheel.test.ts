import { expect, test } from "vitest";
import { type Wheel, wheelMove } from "./wheel";

function wheel(given: Partial<Wheel>): Wheel {
  const keys = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
  return { ...keys, deltaX: 0, deltaY: 0, deltaMode: 0, ...given };
}

test("a plain wheel scrolls the page", () => {
  expect(wheelMove(wheel({ deltaY: 120 }), 400)).toBeNull();
  expect(wheelMove(wheel({ deltaY: 120, deltaX: 40 }), 400)).toBeNull();
});

test("with Ctrl, Cmd or Alt it zooms, towards the reader in", () => {
  for (const key of ["ctrlKey", "metaKey", "altKey"] as const) {
    const move = wheelMove(wheel({ deltaY: -100, [key]: true }), 400);
    expect(move?.kind === "zoom" && move.factor).toBeCloseTo(0.835, 3);
  }
});

test("sideways or with Shift it moves, by the share of the width that it was turned", () => {
  expect(wheelMove(wheel({ deltaX: 100, deltaY: 20 }), 400)).toEqual({ kind: "pan", share: 0.25 });
  expect(wheelMove(wheel({ deltaY: -100, shiftKey: true }), 400)).toEqual({ kind: "pan", share: -0.25 });
  expect(wheelMove(wheel({ deltaX: -100, shiftKey: true }), 400)).toEqual({ kind: "pan", share: -0.25 });
});

test("a wheel that counts lines moves as far as one that counts pixels", () => {
  expect(wheelMove(wheel({ deltaX: 5, deltaMode: 1 }), 400)).toEqual({ kind: "pan", share: 0.2 });
});
