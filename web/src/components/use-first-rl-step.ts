/** Where reinforcement learning begins in a run that first trains supervised; null: it does not, or has not yet. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { firstRlStepOptions } from "@/api/steps";
import type { Run } from "@/api/types";

/** So often a run that still warms up is asked again. */
const ASK_MS = 10_000;

export function useFirstRlStep(run: Run, isLive: boolean): number | null {
  const { data = null } = useQuery(firstRlStepQuery(run, isLive));
  return data;
}

/** Of a run that trains nothing supervised it asks nothing. */
export function firstRlStepQuery(run: Run, isLive: boolean) {
  return queryOptions({
    ...firstRlStepOptions(run.id),
    enabled: run.spec?.warm_start != null,
    staleTime: (query) => (query.state.data == null ? ASK_MS : Number.POSITIVE_INFINITY),
    refetchInterval: (query) => (isLive && query.state.data == null ? ASK_MS : false),
  });
}
