/** Which share of a run's rollouts its filter left, by its books. */
import { useQuery } from "@tanstack/react-query";
import { ledgerOptions } from "@/api/ledger";
import type { Ledger } from "@/api/types";

/** Null: it left none out, or left nothing, or its books are empty: there is nothing to plan with. */
export function keptFracOf(total: Ledger["total"]): number | null {
  if (!total || total.num_generated === 0) return null;
  const filtered = Object.values(total.filtered).reduce((sum, count) => sum + count, 0);
  return filtered === 0 || filtered >= total.num_generated ? null : 1 - filtered / total.num_generated;
}

/** Undefined while it is not known; where the books do not load, null. */
export function useKeptFrac(runId: string | null): number | null | undefined {
  const { data, error } = useQuery({ ...ledgerOptions(runId ?? "", {}), enabled: runId !== null });
  if (runId === null || error) return null;
  return data && keptFracOf(data.total);
}
