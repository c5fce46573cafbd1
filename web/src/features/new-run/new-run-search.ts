/** What the new run begins with, in the URL. */
import type { LayoutChanges } from "./run-text";

export interface NewRunSearch extends LayoutChanges {
  /** Name of an example. */
  example?: string;
  /** Id of a run. */
  from?: string;
}

const SIZES = ["dp", "cp", "pp", "token_cap", "micro_batch_size"] as const;
const NAMES = ["packer", "balance", "barrier"] as const;

export function parseNewRunSearch(raw: Record<string, unknown>): NewRunSearch {
  const sizes = SIZES.filter((key) => Number.isSafeInteger(raw[key]) && (raw[key] as number) > 0);
  const names = NAMES.filter((key) => typeof raw[key] === "string");
  return {
    ...(typeof raw.example === "string" && { example: raw.example }),
    ...(typeof raw.from === "string" && {
      from: raw.from,
      ...Object.fromEntries([...sizes, ...names].map((key) => [key, raw[key]])),
    }),
  };
}
