/** Builders of log lines for tests. */
import type { LogEntry } from "./log-window";

export function line(id: number, text = `line ${id}`, given: Partial<LogEntry> = {}): LogEntry {
  return {
    id,
    attempt: 1,
    source: "rank 0",
    number: id,
    at: new Date(Date.parse("2026-11-12T10:52:00Z") + id * 1000).toISOString(),
    level: "info",
    text,
    ...given,
  };
}
