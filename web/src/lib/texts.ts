/** What is done to text that comes from outside before it is shown. It is only ever rendered as text. */

/** Longer texts are cut and offer "Show all". Counted in UTF-16 units, about bytes for most texts. */
export const MAX_SHOWN_CHARACTERS = 10_000;

/** The start of a text, and whether something was cut; never in the middle of a surrogate pair. */
export function cutText(text: string, max = MAX_SHOWN_CHARACTERS): { shown: string; isCut: boolean } {
  if (text.length <= max) return { shown: text, isCut: false };
  const last = text.charCodeAt(max - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? max - 1 : max;
  return { shown: text.slice(0, end), isCut: true };
}

/** A name of the record as words: `zero variance` of `zero_variance`. */
export function wordsOf(name: string): string {
  return name.replaceAll("_", " ");
}

/** The first line, without the traceback that may follow; a sentence keeps its full stop. */
export function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.trim() ?? "";
}

/** A clause as the beginning of a sentence. */
export function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
