import { expect, test } from "vitest";
import type { RunSummary } from "../types";
import { notePace, secondsLeft } from "./pace";

function run(id: string, step: number, stepS: number, state: RunSummary["state"] = "running"): RunSummary {
  return { id, state, num_steps: step + 1, total_steps: 100, last: { step, step_s: stepS } } as RunSummary;
}

test("without an earlier step the newest one counts", () => {
  expect(secondsLeft(run("a", 49, 2))).toBe(100);
});

test("one slow step moves the estimate a little", () => {
  notePace(run("b", 48, 2));
  notePace(run("b", 49, 12));
  expect(secondsLeft(run("b", 49, 12))).toBeCloseTo(50 * 3.5);
});

test("a step that is told twice counts once", () => {
  notePace(run("c", 48, 2));
  notePace(run("c", 48, 12));
  expect(secondsLeft(run("c", 48, 12))).toBeCloseTo(51 * 2);
});

test("what stands still, and what has no known end, has no time left", () => {
  expect(secondsLeft(run("d", 49, 2, "lost"))).toBeNull();
  expect(secondsLeft({ ...run("d", 49, 2), total_steps: null })).toBeNull();
});
