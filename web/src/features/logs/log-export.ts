/** The log as a text, to copy or to keep: every line that the filter lets through. */
import type { LogLine } from "@/api/types";
import type { FetchLogPage } from "./log-reader";

const PAGE_SIZE = 2000;

/** `2026-11-12T10:52:00.000Z rank 0 error loss is NaN`, further lines of a traceback as they are. */
export function lineAsText({ at, source, level, text }: LogLine): string {
  return `${at} ${source} ${level} ${text}`;
}

/** All lines from the oldest on, page by page. */
export async function wholeLog(fetchPage: FetchLogPage, signal: AbortSignal): Promise<string> {
  const parts: string[] = [];
  let after = 0;
  for (;;) {
    const page = await fetchPage({ after, limit: PAGE_SIZE }, signal);
    parts.push(...page.items.map((line) => `${lineAsText(line)}\n`));
    after = page.next_after;
    if (!page.has_newer) return parts.join("");
  }
}

/** Gives the browser a file to keep. */
export function saveAs(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
