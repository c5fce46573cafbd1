/** Builders of timelines for tests. */
import type { Activity } from "./activities";
import type { StepSpans } from "./timeline-model";

type SpanRow = [actor: string, activity: Activity, start: number, end: number];

/** A step of `seconds`, that begins `at` seconds after the first. */
export function stepSpans(step: number, at: number, seconds: number, rows: readonly SpanRow[]): StepSpans {
  const started = Date.parse("2026-11-12T10:52:00Z") + at * 1000;
  return {
    step,
    started_at: new Date(started).toISOString(),
    ended_at: new Date(started + seconds * 1000).toISOString(),
    global_batch_size: 8,
    spans: {
      actor: rows.map(([actor]) => actor),
      activity: rows.map(([, activity]) => activity),
      start_s: rows.map(([, , start]) => start),
      end_s: rows.map(([, , , end]) => end),
    },
  };
}
