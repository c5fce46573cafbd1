/** Two specs, or any two trees of plain values, laid side by side. Pure; for compare, config and new run. */

export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain };

export interface SpecChange {
  /** `batch.global_batch_size`, `reward.0.type`. */
  path: string;
  /** Undefined: not there. */
  was: Plain | undefined;
  is: Plain | undefined;
}

/** Leaves by their path. An empty list or map is a leaf, and so is a list of plain values: it is read as one thing. */
export function leavesOf(tree: unknown): Map<string, Plain> {
  const leaves = new Map<string, Plain>();
  const walk = (node: unknown, path: string) => {
    if (!isBranch(node)) {
      if (node !== undefined) leaves.set(path, node as Plain);
      return;
    }
    for (const [key, child] of Object.entries(node)) walk(child, path === "" ? key : `${path}.${key}`);
  };
  walk(tree, "");
  return leaves;
}

function isBranch(node: unknown): node is object {
  if (typeof node !== "object" || node === null) return false;
  if (Array.isArray(node)) return node.some((item) => typeof item === "object" && item !== null);
  return Object.keys(node).length > 0;
}

/** Whether two values say the same. What is absent, null and an empty list or map all say nothing. */
export function isSame(was: Plain | undefined, is: Plain | undefined): boolean {
  return JSON.stringify(orNull(was)) === JSON.stringify(orNull(is));
}

function orNull(value: Plain | undefined): Plain {
  if (value === undefined) return null;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0 ? null : value;
}

/** What differs, in the order of the second tree, then what is gone. */
export function changesBetween(was: unknown, is: unknown): SpecChange[] {
  const [before, after] = [leavesOf(was), leavesOf(is)];
  const paths = new Set([...after.keys(), ...before.keys()]);
  return [...paths]
    .map((path) => ({ path, was: before.get(path), is: after.get(path) }))
    .filter((change) => !isSame(change.was, change.is));
}

/** A value in one line: `8,192`, `[1, 2]`; empty for what is not there. */
export function valueText(value: Plain | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
