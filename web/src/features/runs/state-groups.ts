/** The state filter of the list: one choice for each thing that a reader looks for. */
import type { RunState } from "@/api/types";
import type { StateName } from "@/components/state-badge";

export interface StateGroup {
  key: string;
  word: string;
  /** Whose shape stands before the word. */
  shape: StateName;
  states: readonly RunState[];
  /** Shown even where it counts nothing. */
  isAlwaysShown?: boolean;
}

export const STATE_GROUPS: readonly StateGroup[] = [
  { key: "running", word: "Running", shape: "running", states: ["running"], isAlwaysShown: true },
  { key: "waiting", word: "Waiting", shape: "queued", states: ["queued", "starting"] },
  { key: "paused", word: "Paused", shape: "paused", states: ["pausing", "paused"] },
  { key: "stopping", word: "Stopping", shape: "stopping", states: ["stopping"] },
  { key: "failed", word: "Failed", shape: "failed", states: ["failed"] },
  { key: "lost", word: "Lost", shape: "lost", states: ["lost"] },
  { key: "succeeded", word: "Succeeded", shape: "succeeded", states: ["succeeded"] },
  { key: "cancelled", word: "Cancelled", shape: "cancelled", states: ["cancelled"] },
];

export function groupByKey(key: string | undefined): StateGroup | undefined {
  return STATE_GROUPS.find((group) => group.key === key);
}

export function countOf(counts: Partial<Record<RunState, number>>, states: readonly RunState[]): number {
  return states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

export function countAll(counts: Partial<Record<RunState, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
