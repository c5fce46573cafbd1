import { expect, test } from "vitest";
import type { RunSummary } from "@/api/types";
import { holdBack } from "./use-held-runs";

function runs(...ids: string[]): RunSummary[] {
  return ids.map((id) => ({ id }) as RunSummary);
}

function heldOf(listed: RunSummary[], known: string[]): { ids: string[]; numHeld: number } {
  const { shown, numHeld } = holdBack(listed, known);
  return { ids: shown.map((run) => run.id), numHeld };
}

test("new runs at the top are held back", () => {
  expect(heldOf(runs("e", "d", "c", "b"), ["c", "b"])).toEqual({ ids: ["c", "b"], numHeld: 2 });
});

test("known runs keep their order, and none comes between them", () => {
  expect(heldOf(runs("b", "d", "c", "a"), ["a", "b", "c"])).toEqual({ ids: ["a", "b", "c"], numHeld: 1 });
});

test("an older page is no news", () => {
  expect(heldOf(runs("c", "b", "a"), ["c", "b"])).toEqual({ ids: ["c", "b", "a"], numHeld: 0 });
});

test("a run that is gone leaves the others where they are", () => {
  expect(heldOf(runs("c", "a"), ["a", "b", "c"])).toEqual({ ids: ["a", "c"], numHeld: 0 });
});

test("where nothing is known everything is shown", () => {
  expect(heldOf(runs("c"), [])).toEqual({ ids: ["c"], numHeld: 0 });
});
