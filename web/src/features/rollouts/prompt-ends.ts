/** Prompts without the beginning that all of a list share, so that its rows are told apart. Pure. */

/** A beginning that is shorter leaves room for what differs. */
const LEAST_SHARED = 16;

/** How many characters all prompts begin with, up to the end of a word; 0: few, or nothing of some would be left. */
export function sharedBeginning(prompts: readonly (string | null)[]): number {
  const known = [...new Set(prompts.filter((prompt) => prompt !== null))];
  const [first, ...others] = known;
  if (first === undefined || others.length === 0) return 0;
  let length = first.length;
  for (const other of others) {
    while (!other.startsWith(first.slice(0, length))) length -= 1;
  }
  const words = first.slice(0, length).search(/\S*$/u);
  return words < LEAST_SHARED || known.some((prompt) => prompt.slice(words).trim() === "") ? 0 : words;
}

/** `… desserts` of `Spell this word backward: desserts`. */
export function promptEnd(prompt: string, shared: number): string {
  return shared === 0 ? prompt : `… ${prompt.slice(shared)}`;
}
