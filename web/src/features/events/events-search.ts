/** What of the events is shown, in the URL. */
export interface EventsSearch {
  /** Text that kind or message contain. */
  q?: string;
  /** Oldest first; newest first by default. */
  oldest?: boolean;
}

export function parseEventsSearch(raw: Record<string, unknown>): EventsSearch {
  const q = typeof raw.q === "string" || typeof raw.q === "number" ? String(raw.q) : "";
  return { ...(q !== "" && { q }), ...(raw.oldest === true && { oldest: true }) };
}
