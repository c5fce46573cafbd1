import { expect, test } from "vitest";
import type { RunSummary } from "@/api/types";
import { nextSort, parseSort, sortRuns, sortText } from "./runs-sort";

function run(id: string, reward: number | string | null): RunSummary {
  return { id, name: id, last: reward === null ? null : { reward } } as unknown as RunSummary;
}

test("runs without a number stand last, whichever way round", () => {
  const runs = [run("a", null), run("b", 0.2), run("c", "NaN"), run("d", 0.9)];
  const ids = (isDescending: boolean) => sortRuns(runs, { key: "reward", isDescending }).map(({ id }) => id);
  expect(ids(true)).toEqual(["d", "b", "a", "c"]);
  expect(ids(false)).toEqual(["b", "d", "a", "c"]);
});

test("equal runs keep their order", () => {
  const runs = [run("b", 1), run("a", 1)];
  expect(sortRuns(runs, { key: "reward", isDescending: true })).toEqual(runs);
});

test("clicks go round: greatest, least, as it was", () => {
  const greatest = nextSort(null, "reward");
  const least = nextSort(greatest, "reward");
  expect([greatest, least, nextSort(least, "reward")]).toEqual([
    { key: "reward", isDescending: true },
    { key: "reward", isDescending: false },
    null,
  ]);
  expect(nextSort(greatest, "name")).toEqual({ key: "name", isDescending: false });
});

test("what is no column falls away", () => {
  expect(parseSort("-reward")).toEqual({ key: "reward", isDescending: true });
  expect(sortText({ key: "reward", isDescending: true })).toBe("-reward");
  expect([parseSort("colour"), parseSort(3)]).toEqual([null, null]);
});
