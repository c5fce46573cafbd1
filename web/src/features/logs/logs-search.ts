/** What of the logs is shown, in the URL. Parsed by the router; unknown or bad values fall away. */
export const LEVELS = ["debug", "info", "warning", "error"] as const;

export type Level = (typeof LEVELS)[number];

export interface LogsSearch {
  /** `driver`, `rank 0`; absent: all. */
  source?: string;
  /** The least that is shown; absent: everything. */
  level?: Level;
  /** Text that is looked for. */
  q?: string;
  /** Only lines that hold the text, instead of going from one to the next. */
  only?: boolean;
  /** The line that a link points to. */
  line?: number;
}

export type LogsSearchPatch = { [K in keyof LogsSearch]?: LogsSearch[K] | undefined };

export function parseLogsSearch(raw: Record<string, unknown>): LogsSearch {
  const level = LEVELS.find((value) => value === raw.level);
  const [source, q] = [textOf(raw.source), textOf(raw.q)];
  return {
    ...(source !== "" && { source }),
    ...(level !== undefined && level !== "debug" && { level }),
    ...(q !== "" && { q }),
    ...(raw.only === true && { only: true }),
    ...(typeof raw.line === "number" &&
      Number.isSafeInteger(raw.line) &&
      raw.line >= 0 && { line: raw.line }),
  };
}

/** A text that looks like a number comes from the URL as one. */
function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
