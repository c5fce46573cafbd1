/** Builders of log lines and pages for tests. */
import type { LogLine, LogPage } from "@/api/types";

export function line(id: number, text = `line ${id}`, given: Partial<LogLine> = {}): LogLine {
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

export function page(items: LogLine[], given: Partial<LogPage> = {}): LogPage {
  return {
    items,
    next_before: null,
    next_after: items.at(-1)?.id ?? 0,
    has_newer: false,
    sources: ["rank 0"],
    ...given,
  };
}
