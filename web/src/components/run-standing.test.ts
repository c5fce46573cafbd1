import { expect, test } from "vitest";
import type { RunSummary } from "@/api/types";
import { runSeconds, runStanding } from "./run-standing";

const NOW = Date.parse("2026-11-12T15:00:00Z");
const RUN = {
  id: "run_1",
  state: "running",
  reason: null,
  activity: null,
  num_steps: 205,
  total_steps: 305,
  last: { step: 204, step_s: 60 },
  started_at: "2026-11-12T14:00:00Z",
  ended_at: null,
  last_heartbeat_at: "2026-11-12T14:55:50Z",
} as RunSummary;

function words(changes: Partial<RunSummary>): string {
  return runStanding({ ...RUN, ...changes }, NOW).replaceAll("\u00a0", " ");
}

test.each<[Partial<RunSummary>, string]>([
  [{}, "1 h 40 min left"],
  [{ total_steps: null, activity: "generating 512 rollouts" }, "Generating 512 rollouts"],
  [{ state: "starting", activity: "Engines ready: 2 of 4" }, "Engines ready: 2 of 4"],
  [{ state: "queued", reason: "Waits for 8 CPUs: 4 are free" }, "Waits for 8 CPUs: 4 are free"],
  [{ state: "queued" }, "Next to start: Ray is starting"],
  [{ state: "pausing" }, "Pauses after step 205"],
  [{ state: "paused" }, "Paused after step 204"],
  [{ state: "paused", num_steps: 0 }, "Paused"],
  [{ state: "stopping" }, "Ends after step 205"],
  [{ state: "lost" }, "No heartbeat for 4 min 10 s"],
  [{ state: "failed", reason: "loss is NaN on rank 2\n\nTraceback" }, "Loss is NaN on rank 2"],
  [{ state: "failed", reason: "model.path: there is no config.json" }, "model.path: there is no config.json"],
  [{ num_steps: 305 }, "All steps are done"],
  [{ state: "cancelled", num_steps: 77 }, "Cancelled at step 77"],
  [{ state: "cancelled", num_steps: 0 }, "Cancelled before its first step"],
  [{ state: "succeeded" }, "Finished"],
])("%o stands as: %s", (changes, text) => {
  expect(words(changes)).toBe(text);
});

test("a run lasts until it ends, and not before it begins", () => {
  expect(runSeconds(RUN, NOW)).toBe(3600);
  expect(runSeconds({ ...RUN, ended_at: "2026-11-12T14:10:00Z" }, NOW)).toBe(600);
  expect(runSeconds({ ...RUN, started_at: null }, NOW)).toBeNull();
});

test("a lost run lasts until its last sign", () => {
  expect(runSeconds({ ...RUN, state: "lost" }, NOW)).toBe(3350);
  expect(runSeconds({ ...RUN, state: "lost", last_heartbeat_at: null }, NOW)).toBeNull();
});
