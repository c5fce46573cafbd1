/** Which rollouts an account counts, as the rollouts page filters them. Pure. */
import type { Account } from "./accounts";

export interface RolloutsOfAccount {
  fate?: "trained" | "filtered" | "dropped" | "carried";
  reason?: string;
}

/** Null where no rollout of these iterations is behind it: what was carried in was generated before. */
export function rolloutsSearch({ kind, reason, count, label }: Account): RolloutsOfAccount | null {
  if (count === 0 || label === "Carried in") return null;
  if (kind === "generated") return {};
  return { fate: kind, ...(reason !== null && { reason }) };
}
