import { expect, test } from "vitest";
import type { RunEvent } from "@/api/types";
import { findEvents } from "./events-page";
import { parseEventsSearch } from "./events-search";

function event(kind: string, message: string): RunEvent {
  return { id: 1, attempt: 1, at: "2026-11-12T10:52:00Z", kind, message, data: {} };
}

test("every word must stand in kind or message", () => {
  const events = [event("run.failed", "loss is NaN"), event("run.running", "step 1")];
  expect(findEvents(events, "nan FAILED")).toEqual([events[0]]);
  expect(findEvents(events, " ")).toHaveLength(2);
});

test("a number that is looked for is a text", () => {
  expect(parseEventsSearch({ q: 17, oldest: "yes" })).toEqual({ q: "17" });
});
