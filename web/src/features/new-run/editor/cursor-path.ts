/** Where the cursor stands in a YAML text that is still being written: block maps by indent, flow maps by brace. Pure.
 *
 *      batch:                      path ["batch"], a key is typed
 *        ty|
 *      batch: {type: al|           path ["batch"], the value of "type" is typed
 */
import { parseDocument } from "yaml";

export interface CursorPath {
  /** Keys and indices of the map that the cursor stands in. */
  path: string[];
  /** The key whose value is typed; null: a key is typed. */
  key: string | null;
  /** What is typed so far, from this offset. */
  word: string;
  from: number;
}

/** Null inside comments and quoted texts. */
export function cursorPath(text: string, at: number): CursorPath | null {
  const before = text.slice(0, at);
  const lines = before.split("\n");
  const line = lines.pop() ?? "";
  if (/(^|\s)#/.test(line) || isQuoted(line)) return null;
  const own = blockKey(line);
  const outer = parentsOf(lines, own.indent);
  const inside = flowPath(own.rest);
  const word = /[\w./-]*$/.exec(line)?.[0] ?? "";
  const from = at - word.length;
  if (inside === null) {
    // `key: wo|` types a value, `ke|` a key.
    return own.key === null
      ? { path: [...outer, ...own.items], key: null, word, from }
      : { path: [...outer, ...own.items], key: own.key, word, from };
  }
  const head = own.key === null ? [] : [own.key];
  return { path: [...outer, ...own.items, ...head, ...inside.path], key: inside.key, word, from };
}

function isQuoted(line: string): boolean {
  return (line.replace(/\\"/g, "").match(/"/g)?.length ?? 0) % 2 === 1;
}

interface BlockKey {
  indent: number;
  /** `- ` before the key: the first item, since all items of a list have one schema. */
  items: string[];
  key: string | null;
  rest: string;
}

function blockKey(line: string): BlockKey {
  const [, spaces = "", dashes = "", body = ""] = /^(\s*)((?:- +)*)(.*)$/.exec(line) ?? [];
  const items = Array.from(dashes.matchAll(/-/g), () => "0");
  const indent = spaces.length + dashes.length;
  const [, key, rest] = /^([\w-]+):(?:\s+(.*)|)$/.exec(body) ?? [];
  return key === undefined
    ? { indent, items, key: null, rest: body }
    : { indent, items, key, rest: rest ?? "" };
}

/** Keys of the block maps around a line, outermost first. */
function parentsOf(lines: readonly string[], indent: number): string[] {
  const path: string[] = [];
  let limit = indent;
  for (const line of [...lines].reverse()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const one = blockKey(line);
    const first = /^\s*/.exec(line)?.[0].length ?? 0;
    if (one.indent < limit && one.key !== null) {
      path.unshift(...one.items, one.key);
      limit = first;
    } else if (one.items.length > 0 && one.indent === limit && first < limit) {
      // A key beside this one opened the item of the list.
      path.unshift(...one.items);
      limit = first;
    }
    if (limit === 0) break;
  }
  return path;
}

/** Inside which braces the end of the text stands; null: inside none. */
function flowPath(text: string): { path: string[]; key: string | null } | null {
  const open: { kind: string; key: string | null }[] = [];
  let part = "";
  for (const letter of text) {
    if (letter === "{" || letter === "[") {
      open.push({ kind: letter, key: keyIn(part) });
      part = "";
    } else if (letter === "}" || letter === "]") {
      open.pop();
      part = "";
    } else if (letter === ",") part = "";
    else part += letter;
  }
  if (open.length === 0) return null;
  const path = open.flatMap(({ kind, key }) => [
    ...(key === null ? [] : [key]),
    ...(kind === "[" ? ["0"] : []),
  ]);
  return { path, key: keyIn(part) };
}

function keyIn(part: string): string | null {
  return /^\s*([\w-]+):\s*\S*$/.exec(part)?.[1] ?? null;
}

/** What is written at a path already; a text that is half written may have nothing there. */
export function valueAt(text: string, path: readonly string[]): unknown {
  try {
    return parseDocument(text).getIn(path.map((part) => (/^\d+$/.test(part) ? Number(part) : part)));
  } catch {
    return undefined;
  }
}
