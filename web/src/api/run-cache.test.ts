import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { patchRun, recount } from "./run-cache";
import type { RunList, RunSummary } from "./types";

function run(id: string, state: RunSummary["state"], numSteps = 0): RunSummary {
  return { id, state, num_steps: numSteps } as RunSummary;
}

function cacheWith(...items: RunSummary[]): { queryClient: QueryClient; list: () => RunList | undefined } {
  const queryClient = new QueryClient();
  const page: RunList = {
    items,
    next_cursor: null,
    total: items.length,
    by_state: { running: items.length },
  };
  queryClient.setQueryData(["runs", {}], { pages: [page], pageParams: [null] });
  const list = () => queryClient.getQueryData<{ pages: RunList[] }>(["runs", {}])?.pages[0];
  return { queryClient, list };
}

test("a known run changes in its place", () => {
  const { queryClient, list } = cacheWith(run("b", "running"), run("a", "running"));
  expect(patchRun(queryClient, run("a", "running", 7))).toBe(false);
  expect(list()?.items.map((item) => [item.id, item.num_steps])).toEqual([
    ["b", 0],
    ["a", 7],
  ]);
});

test("a change of state moves the counts and asks for the list", () => {
  const { queryClient, list } = cacheWith(run("a", "running"));
  expect(patchRun(queryClient, run("a", "failed"))).toBe(true);
  expect(list()?.by_state).toEqual({ running: 0, failed: 1 });
});

test("an unknown run is not squeezed in but asked for", () => {
  const { queryClient, list } = cacheWith(run("a", "running"));
  expect(patchRun(queryClient, run("z", "queued"))).toBe(true);
  expect(list()?.items).toHaveLength(1);
});

test("a list that nobody looks at is asked again when it is opened, whatever comes of other runs meanwhile", () => {
  const { queryClient, list } = cacheWith(run("a", "running"));
  const state = () => queryClient.getQueryState(["runs", {}]);
  const askedAt = state()?.dataUpdatedAt;
  patchRun(queryClient, run("z", "queued"));
  patchRun(queryClient, run("a", "running", 7));
  expect(state()).toMatchObject({ isInvalidated: true, dataUpdatedAt: askedAt });
  expect(list()?.items[0]?.num_steps).toBe(7);
});

test("the run's own page keeps its spec", () => {
  const { queryClient } = cacheWith();
  queryClient.setQueryData(["run", "a"], { ...run("a", "running"), spec: { name: "x" } });
  patchRun(queryClient, run("a", "stopping", 3));
  expect(queryClient.getQueryData(["run", "a"])).toMatchObject({
    state: "stopping",
    num_steps: 3,
    spec: { name: "x" },
  });
});

test("counts never fall below nothing", () => {
  expect(recount({}, "running", "failed")).toEqual({ running: 0, failed: 1 });
});
