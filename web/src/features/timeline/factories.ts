/** Builders of timelines for tests. */
import type { Activity, StepTimeline } from "@/api/types";

type SpanRow = [actor: string, activity: Activity, start: number, end: number];

/** A step of `seconds`, that begins `at` seconds after the first. */
export function stepSpans(step: number, at: number, seconds: number, rows: readonly SpanRow[]): StepTimeline {
  const started = Date.parse("2026-11-12T10:52:00Z") + at * 1000;
  return {
    step,
    attempt: 1,
    superseded: false,
    iteration: step,
    phase: "rl",
    started_at: new Date(started).toISOString(),
    ended_at: new Date(started + seconds * 1000).toISOString(),
    timeline: {
      actor: rows.map(([actor]) => actor),
      activity: rows.map(([, activity]) => activity),
      start_s: rows.map(([, , start]) => start),
      end_s: rows.map(([, , , end]) => end),
    },
  };
}
