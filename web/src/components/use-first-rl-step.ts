/** Where reinforcement learning begins in a run that first trains supervised; null: it does not, or has not yet. */
import { useQuery } from "@tanstack/react-query";
import { firstRlStepOptions } from "@/api/steps";
import type { Run } from "@/api/types";

/** So often a run that still warms up is asked again. */
const ASK_MS = 10_000;

export function useFirstRlStep(run: Run, isLive: boolean): number | null {
  const { data = null } = useQuery({
    ...firstRlStepOptions(run.id),
    enabled: run.spec?.warm_start != null,
    staleTime: (query) => (query.state.data == null ? ASK_MS : Number.POSITIVE_INFINITY),
    refetchInterval: (query) => (isLive && query.state.data == null ? ASK_MS : false),
  });
  return data;
}
