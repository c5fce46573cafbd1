import { expect, test } from "vitest";
import type { RunSummary } from "@/api/types";
import { holdBack } from "./use-held-runs";

function runs(...ids: string[]): RunSummary[] {
  return ids.map((id) => ({ id }) as RunSummary);
}

test("only new runs at the top are held back", () => {
  const { shown, numHeld } = holdBack(runs("e", "d", "c", "b"), new Set(["c", "b"]));
  expect(shown.map((run) => run.id)).toEqual(["c", "b"]);
  expect(numHeld).toBe(2);
});

test("an older page is no news", () => {
  expect(holdBack(runs("c", "b", "a"), new Set(["c", "b"]))).toMatchObject({ numHeld: 0 });
});

test("where nothing is known everything is shown", () => {
  expect(holdBack(runs("c"), new Set())).toMatchObject({ numHeld: 0, shown: [{ id: "c" }] });
});
