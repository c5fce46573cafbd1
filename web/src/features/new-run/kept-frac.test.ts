import { expect, test } from "vitest";
import type { Ledger } from "@/api/types";
import { keptFracOf } from "./kept-frac";

function books(num_generated: number, filtered: Record<string, number>): Ledger["total"] {
  return { num_generated, filtered } as Ledger["total"];
}

test("what was filtered for any reason was not kept", () => {
  expect(keptFracOf(books(80, { zero_variance: 24, "too long": 8 }))).toBeCloseTo(0.6);
});

test("where nothing was left out, or nothing was left, there is nothing to plan with", () => {
  expect(keptFracOf(books(80, {}))).toBeNull();
  expect(keptFracOf(books(80, { zero_variance: 80 }))).toBeNull();
  expect(keptFracOf(books(0, {}))).toBeNull();
  expect(keptFracOf(null)).toBeNull();
});
