/** The books as accounts: what comes in, what goes out, by reason. Pure. */
import type { LedgerEntry } from "@/api/types";
import { wordsOf } from "@/lib/texts";

export type AccountKind = "carried" | "generated" | "trained" | "filtered" | "dropped";

export interface Account {
  kind: AccountKind;
  /** Why rollouts were filtered or dropped; null where there is no why. */
  reason: string | null;
  label: string;
  count: number;
}

/** Tells an account from all others of the books; two reasons may have the same words. */
export function keyOf({ kind, reason, label }: Account): string {
  return `${kind} ${reason ?? label}`;
}

export interface Books {
  ins: Account[];
  outs: Account[];
  numIn: number;
  numOut: number;
}

type Counts = Omit<LedgerEntry, "first_iteration" | "last_iteration" | "first_step" | "num_iterations">;

/** Every account of the entry, those without rollouts too. `like` names the reasons that have to be there. */
export function booksOf(entry: Counts, like: Pick<Counts, "filtered" | "dropped"> = entry): Books {
  const ins: Account[] = [
    { kind: "carried", reason: null, label: "Carried in", count: entry.num_carried_in },
    { kind: "generated", reason: null, label: "Generated", count: entry.num_generated },
  ];
  const outs: Account[] = [
    { kind: "trained", reason: null, label: "Trained", count: entry.num_trained },
    ...byReason("filtered", "Filtered", entry.filtered, like.filtered),
    ...byReason("dropped", "Dropped", entry.dropped, like.dropped),
    { kind: "carried", reason: null, label: "Carried out", count: entry.num_carried_out },
  ];
  return { ins, outs, numIn: sum(ins), numOut: sum(outs) };
}

function byReason(
  kind: "filtered" | "dropped",
  word: string,
  counts: Record<string, number>,
  like: Record<string, number>,
): Account[] {
  const reasons = Object.keys({ ...like, ...counts }).sort();
  return reasons.map((reason) => ({
    kind,
    reason,
    label: `${word}: ${wordsOf(reason)}`,
    count: counts[reason] ?? 0,
  }));
}

function sum(accounts: readonly Account[]): number {
  return accounts.reduce((total, { count }) => total + count, 0);
}
