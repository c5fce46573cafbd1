/** Names of runs without what they have in common, so that they fit at the ends of lines. Pure. */

/** Cut at the last separator of the common beginning; runs of one name get their place, `demo (2)`. */
export function shortNames(names: readonly string[]): string[] {
  const common = commonBeginning(names);
  const cut = common.slice(
    0,
    Math.max(...["-", "_", "/", " ", "."].map((mark) => common.lastIndexOf(mark) + 1)),
  );
  const short = names.map((name) => name.slice(cut.length) || name);
  return short.map((name, i) => {
    const before = short.slice(0, i).filter((other) => other === name).length;
    return before > 0 ? `${name} (${before + 1})` : name;
  });
}

function commonBeginning(names: readonly string[]): string {
  const [first = "", ...others] = names;
  if (others.length === 0) return "";
  let length = first.length;
  for (const other of others) {
    while (!other.startsWith(first.slice(0, length))) length -= 1;
  }
  return first.slice(0, length);
}
