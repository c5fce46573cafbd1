/** What of the list's view lives in the URL. */
import { MAX_NAME_CHARACTERS } from "@/api/runs";
import { parseSort, sortText } from "./runs-sort";
import { groupByKey } from "./state-groups";

const MOST_TAGS = 20;

export interface RunsSearch {
  /** Text that the name contains. */
  q?: string;
  /** Key of a state group. */
  state?: string;
  /** `key=value`, or `key` for any value; all must match. */
  tags?: string[];
  /** Also runs that are archived. */
  archived?: boolean;
  /** A column, with a minus the greatest first; absent: the newest first. */
  sort?: string;
  /** Runs that are selected to be compared. */
  sel?: string[];
}

export function parseRunsSearch(raw: Record<string, unknown>): RunsSearch {
  const group = typeof raw.state === "string" ? groupByKey(raw.state) : undefined;
  // The router reads `?q=17` as a number.
  const q = typeof raw.q === "string" || typeof raw.q === "number" ? String(raw.q) : "";
  const text = cut(q);
  const [tags, sel] = [texts(raw.tags).slice(0, MOST_TAGS), texts(raw.sel)];
  const sort = parseSort(raw.sort);
  return {
    ...(text !== "" && { q: text }),
    ...(group && { state: group.key }),
    ...(tags.length > 0 && { tags }),
    ...(raw.archived === true && { archived: true }),
    ...(sort && { sort: sortText(sort) }),
    ...(sel.length > 0 && { sel }),
  };
}

/** By whole characters: half of one cannot be written in an address. */
function cut(text: string): string {
  return text.length > MAX_NAME_CHARACTERS ? Array.from(text).slice(0, MAX_NAME_CHARACTERS).join("") : text;
}

/** Each once, in their order. */
function texts(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return [...new Set(value.filter((one): one is string => typeof one === "string" && one !== ""))];
}
