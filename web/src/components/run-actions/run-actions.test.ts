import { expect, test } from "vitest";
import type { RunSummary } from "@/api/types";
import { actionsOf } from "./run-actions";

function labels(given: Partial<RunSummary>): string[] {
  const run = { kind: "managed", state: "running", archived_at: null, ...given } as RunSummary;
  return actionsOf(run).map(({ label }) => label);
}

test.each<[RunSummary["state"], string[]]>([
  ["queued", ["Cancel run", "Clone run"]],
  ["starting", ["Stop run", "Clone run"]],
  ["running", ["Pause run", "Stop run", "Clone run"]],
  ["pausing", ["Resume run", "Stop run", "Clone run"]],
  ["paused", ["Resume run", "Stop run", "Clone run"]],
  ["stopping", ["Kill run", "Clone run"]],
  ["lost", ["Stop run", "Clone run"]],
  ["succeeded", ["Archive run", "Clone run", "Delete run"]],
  ["failed", ["Retry run", "Archive run", "Clone run", "Delete run"]],
  ["cancelled", ["Retry run", "Archive run", "Clone run", "Delete run"]],
])("of a run that is %s: %s", (state, expected) => {
  expect(labels({ state })).toEqual(expected);
});

test("a run of another framework is neither paused nor submitted again", () => {
  expect(labels({ kind: "external" })).toEqual(["Stop run"]);
  expect(labels({ kind: "external", state: "failed" })).toEqual(["Archive run", "Delete run"]);
});

test("a run in the archive comes back", () => {
  expect(labels({ state: "succeeded", archived_at: "2026-11-12T14:00:00Z" })).toContain(
    "Take back from archive",
  );
});
