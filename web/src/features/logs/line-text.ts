/** What of a line is shown: tracebacks folded to what went wrong, hits of a search marked. Pure. */

/** Colours and cursor moves of terminals. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const TERMINAL_CODES = /\u001b(?:\[[0-9;?]*[A-Za-z]|\][^\u0007]*(?:\u0007|$))/g;

/** The text as a reader sees it: without codes of terminals, each overwriting of a progress bar on a line of its own. */
export function readable(text: string): string {
  return text.replace(TERMINAL_CODES, "").replace(/\r\n?/g, "\n").replace(/\n+$/, "");
}

export interface FoldedText {
  head: string;
  /** Lines between head and tail. */
  numHidden: number;
  tail: string;
}

/** Texts of more lines than this are folded. */
const MOST_LINES_OPEN = 3;

/** The first and the last line of a long text, which of a traceback is what was raised; null: short enough. */
export function foldText(text: string): FoldedText | null {
  const lines = text.replace(/\s+$/, "").split("\n");
  if (lines.length <= MOST_LINES_OPEN) return null;
  return { head: lines[0] ?? "", numHidden: lines.length - 2, tail: lines.at(-1) ?? "" };
}

export interface TextPart {
  text: string;
  isHit: boolean;
}

/** The text in parts, those that match the query apart. Case counts as the server counts it: not at all. */
export function partsOf(text: string, query: string): TextPart[] {
  const wanted = query.toLowerCase();
  const searched = text.toLowerCase();
  // Some letters change their length in lower case: then no place in one text is a place in the other.
  if (wanted === "" || searched.length !== text.length) return [{ text, isHit: false }];
  const parts: TextPart[] = [];
  let from = 0;
  for (let at = searched.indexOf(wanted); at !== -1; at = searched.indexOf(wanted, from)) {
    if (at > from) parts.push({ text: text.slice(from, at), isHit: false });
    from = at + wanted.length;
    parts.push({ text: text.slice(at, from), isHit: true });
  }
  if (from < text.length) parts.push({ text: text.slice(from), isHit: false });
  return parts;
}

export function isHit(text: string, query: string): boolean {
  return query !== "" && text.toLowerCase().includes(query.toLowerCase());
}
