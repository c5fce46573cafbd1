/** Another batch policy in a text: its block with sizes that fit the rest, everything else as it was written. Pure. */
import { parseDocument } from "yaml";

export const BATCH_TYPES = ["fixed", "all", "token_budget", "ramp", "explicit", "adaptive"] as const;
export type BatchType = (typeof BATCH_TYPES)[number];

/** The type that is written; null: none, or a text that is no YAML. */
export function batchTypeOf(text: string): BatchType | null {
  const document = parseDocument(text);
  if (document.errors.length > 0) return null;
  const type: unknown = document.getIn(["batch", "type"]);
  return BATCH_TYPES.find((known) => known === type) ?? null;
}

/** A text that is no YAML stays as it is. */
export function withBatchType(text: string, type: BatchType): string {
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  const number = (path: string[], otherwise: number) => {
    const value: unknown = document.getIn(path);
    return typeof value === "number" && value > 0 ? value : otherwise;
  };
  const rollouts = number(["data", "rollout_batch_size"], 64) * number(["rollout", "group_size"], 8);
  const sampleTokens =
    number(["data", "max_prompt_tokens"], 512) + number(["rollout", "max_new_tokens"], 512);
  const block = document.createNode(blockOf(type, rollouts, sampleTokens), { flow: true });
  if (document.has("batch")) document.set("batch", block);
  else document.add(document.createPair("batch", block));
  return document.toString({ lineWidth: 110, flowCollectionPadding: false });
}

function blockOf(type: BatchType, rollouts: number, sampleTokens: number): object {
  const part = (divisor: number) => Math.max(1, Math.floor(rollouts / divisor));
  switch (type) {
    case "all":
      return { type };
    case "fixed":
      return { type, global_batch_size: part(4) };
    case "token_budget":
      // A quarter of an iteration, were its samples half as long as they may be.
      return { type, tokens_per_step: Math.max(1, Math.round((rollouts * sampleTokens) / 8)) };
    case "ramp":
      return {
        type,
        start: part(16),
        end: part(16) * 8,
        increment: part(16),
        over_samples: rollouts * 8,
        remainder: "carry",
      };
    case "explicit":
      return {
        type,
        table: [
          { from_step: 0, global_batch_size: part(8) },
          { from_step: 32, global_batch_size: part(4) },
          { from_step: 96, global_batch_size: part(2) },
        ],
        remainder: "carry",
      };
    case "adaptive":
      return { type, mode: "control", global_batch_size: part(4), min_size: part(16), max_size: rollouts };
  }
}
