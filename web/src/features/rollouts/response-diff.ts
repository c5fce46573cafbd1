/** Two responses, word by word: what they share and what only one of them has. Pure. */
import { diffLines, diffWordsWithSpace } from "diff";

export interface DiffPart {
  text: string;
  isShared: boolean;
}

export interface ResponseDiff {
  first: DiffPart[];
  second: DiffPart[];
  /** Share of the characters of both that the other one has too. */
  sharedFrac: number;
  /** Words took too long: whole lines are compared. */
  byLine: boolean;
}

/** A page that stands still for longer is broken. */
const WORDS_MS = 150;
const LINES_MS = 150;

/** Null: so long and so different that nothing useful can be said in time. */
export function diffResponses(first: string, second: string): ResponseDiff | null {
  const words = diffWordsWithSpace(first, second, { timeout: WORDS_MS });
  const changes = words ?? diffLines(first, second, { timeout: LINES_MS });
  if (!changes) return null;
  const parts: ResponseDiff = { first: [], second: [], sharedFrac: 0, byLine: words === undefined };
  let shared = 0;
  for (const { value, added, removed } of changes) {
    const isShared = !added && !removed;
    if (!added) parts.first.push({ text: value, isShared });
    if (!removed) parts.second.push({ text: value, isShared });
    if (isShared) shared += value.length;
  }
  const total = first.length + second.length;
  return { ...parts, sharedFrac: total === 0 ? 1 : (2 * shared) / total };
}
