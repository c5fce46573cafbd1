/** Two responses, word by word, and by character where each is a single word: what they share and what only one of them has. Pure. */
import { diffChars, diffLines, diffWordsWithSpace } from "diff";

export interface DiffPart {
  text: string;
  isShared: boolean;
}

export interface ResponseDiff {
  first: DiffPart[];
  second: DiffPart[];
  /** Share of the characters of both that the other one has too. */
  sharedFrac: number;
  comparedBy: "character" | "word" | "line";
}

/** A page that stands still for longer is broken. */
const WORDS_MS = 150;
const LINES_MS = 150;
const LONGEST_WORD = 200;

/** Null: so long and so different that nothing useful can be said in time. */
export function diffResponses(first: string, second: string): ResponseDiff | null {
  const compared = comparison(first, second);
  if (!compared) return null;
  const { changes, comparedBy } = compared;
  const parts: ResponseDiff = { first: [], second: [], sharedFrac: 0, comparedBy };
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

function comparison(first: string, second: string) {
  if ([first, second].every(isOneWord)) {
    return { changes: diffChars(first, second), comparedBy: "character" as const };
  }
  const words = diffWordsWithSpace(first, second, { timeout: WORDS_MS });
  if (words) return { changes: words, comparedBy: "word" as const };
  // Words took too long.
  const lines = diffLines(first, second, { timeout: LINES_MS });
  return lines && { changes: lines, comparedBy: "line" as const };
}

/** Of two such words as a whole nothing is shared unless all is. */
function isOneWord(text: string): boolean {
  return text.length <= LONGEST_WORD && !/\s/.test(text.trim());
}
