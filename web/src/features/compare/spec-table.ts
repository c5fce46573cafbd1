/** The specs of several runs, field by field. Pure. */
import { isSame, leavesOf, type Plain, valueText } from "@/lib/spec-diff";

export interface SpecRow {
  path: string;
  /** In the order of the runs; empty: not there. */
  values: string[];
  /** Whether each is what the first run has. */
  isSame: boolean[];
}

export interface SpecTable {
  rows: SpecRow[];
  /** Fields in all, those that are equal included. */
  numFields: number;
  numDifferent: number;
}

/** `keepsEqual`: also the fields that all runs agree on. Names differ always and say nothing. */
export function specTable(specs: readonly unknown[], keepsEqual: boolean): SpecTable {
  const leaves = specs.map(leavesOf);
  const paths = [...new Set(leaves.flatMap((one) => [...one.keys()]))].filter((path) => path !== "name");
  const all = paths.map((path) => rowOf(path, leaves));
  const different = all.filter(({ isSame }) => isSame.includes(false));
  return { rows: keepsEqual ? all : different, numFields: all.length, numDifferent: different.length };
}

function rowOf(path: string, leaves: readonly Map<string, Plain>[]): SpecRow {
  const values = leaves.map((one) => one.get(path));
  return { path, values: values.map(valueText), isSame: values.map((value) => isSame(value, values[0])) };
}
