/** What of the list's view lives in the URL. */
import { groupByKey } from "./state-groups";

export interface RunsSearch {
  /** Text that the name contains. */
  q?: string;
  /** Key of a state group. */
  state?: string;
}

export function parseRunsSearch(raw: Record<string, unknown>): RunsSearch {
  const group = typeof raw.state === "string" ? groupByKey(raw.state) : undefined;
  // The router reads `?q=17` as a number.
  const q = typeof raw.q === "string" || typeof raw.q === "number" ? String(raw.q) : "";
  return { ...(q !== "" && { q }), ...(group && { state: group.key }) };
}
