/** A spec as blocks of fields, with what another run had. Pure. */
import { isSame, leavesOf, type Plain, valueText } from "@/lib/spec-diff";

export interface ConfigField {
  /** Within its block: `lr_schedule.warmup`; of a field of the spec itself its name. */
  name: string;
  is: string;
  /** Null: there is nothing to compare with. */
  was: string | null;
  differs: boolean;
}

export interface ConfigBlock {
  /** `optimizer`; empty: the fields of the spec itself. */
  name: string;
  fields: ConfigField[];
}

/** `against` undefined: no other run. Fields that only the other has stand in their block, empty here. */
export function configBlocks(spec: unknown, against: unknown, query: string): ConfigBlock[] {
  const [mine, other] = [leavesOf(spec), against === undefined ? null : leavesOf(against)];
  const paths = new Set([...mine.keys(), ...(other?.keys() ?? [])]);
  // A config of nothing at all.
  paths.delete("");
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  // Another framework tells its fields in any order: those of the spec itself come first.
  const blocks = new Map<string, ConfigField[]>([["", []]]);
  for (const path of paths) {
    const field = fieldOf(path, mine, other);
    const text = `${path} ${field.is} ${field.was ?? ""}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const block = path.includes(".") ? path.slice(0, path.indexOf(".")) : "";
    blocks.set(block, [...(blocks.get(block) ?? []), field]);
  }
  return [...blocks].map(([name, fields]) => ({ name, fields })).filter(({ fields }) => fields.length > 0);
}

function fieldOf(path: string, mine: Map<string, Plain>, other: Map<string, Plain> | null): ConfigField {
  return {
    name: path.includes(".") ? path.slice(path.indexOf(".") + 1) : path,
    is: valueText(mine.get(path)),
    was: other && valueText(other.get(path)),
    differs: other !== null && !isSame(other.get(path), mine.get(path)),
  };
}

export function numDifferent(blocks: readonly ConfigBlock[]): number {
  return blocks.flatMap(({ fields }) => fields).filter(({ differs }) => differs).length;
}

/** Blocks without the fields that are equal, and without those that are then empty. */
export function onlyDifferent(blocks: readonly ConfigBlock[]): ConfigBlock[] {
  return blocks
    .map(({ name, fields }) => ({ name, fields: fields.filter(({ differs }) => differs) }))
    .filter(({ fields }) => fields.length > 0);
}
