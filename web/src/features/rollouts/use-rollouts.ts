/** Which groups the page shows, and which group and rollout of them are chosen. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { type GroupsFilter, groupsOptions, newestGroupOptions, rolloutOptions } from "@/api/rollouts";
import type { RecordedPart, RolloutGroup } from "@/api/types";
import { useDebounced } from "@/lib/use-debounced";
import { keyOf } from "./group-facts";
import type { RolloutsSearch } from "./rollouts-search";

export interface Scope {
  /** Null: all of them, or those of a step. */
  iteration: number | null;
  step: number | null;
  /** The newest iteration of which rollouts are recorded; null: none. */
  newest: number | null;
}

export interface ShownRollouts {
  scope: Scope;
  recorded: RecordedPart | null;
  groups: readonly RolloutGroup[];
  chosen: RolloutGroup | null;
  rolloutId: string | null;
  /** The next page of the list; null: there is none, or it is on its way. */
  onEnd: (() => void) | null;
  /** The oldest iteration that was looked at; null: all were. */
  searchedFrom: number | null;
  isLoading: boolean;
  /** What is shown is the list before. */
  isOld: boolean;
  error: Error | null;
  retry: () => void;
}

/** `isHeld`: the newest iteration that is shown stays, although there is a newer one. */
export function useRollouts(runId: string, search: RolloutsSearch, isHeld: boolean): ShownRollouts {
  const newest = useQuery(newestGroupOptions(runId));
  const linked = useLinkedIteration(runId, search);
  const newestIteration = newest.data?.items[0]?.iteration ?? null;
  const followed = useRef<number | null>(null);
  if (!isHeld || followed.current === null) followed.current = newestIteration;
  const isWide = search.all === true || search.step !== undefined;
  const iteration = isWide ? null : (search.iteration ?? linked.iteration ?? followed.current);
  const filter = useFilter(search, iteration);
  const isReady = isWide || (!linked.isPending && iteration !== null);
  const list = useInfiniteQuery({ ...groupsOptions(runId, filter), enabled: isReady });
  const groups = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data]);
  const { hasNextPage, isFetching, fetchNextPage } = list;
  const chosen = chosenGroup(groups, search);
  // A page may be empty and not the last; a rollout that a link points to may lie further on.
  const wantsMore = groups.length === 0 || (search.rollout !== undefined && chosen === null);
  useEffect(() => {
    if (wantsMore && hasNextPage && !isFetching) void fetchNextPage();
  }, [wantsMore, hasNextPage, isFetching, fetchNextPage]);
  const first = useFirst(groups, list.isPlaceholderData ? null : JSON.stringify(filter));
  const shown = chosen ?? (search.rollout === undefined || !hasNextPage ? first : null);
  return {
    scope: { iteration, step: search.step ?? null, newest: newestIteration },
    recorded: newest.data?.recorded ?? null,
    groups,
    chosen: shown,
    rolloutId: rolloutOf(shown, search),
    onEnd: hasNextPage && !isFetching ? () => void fetchNextPage() : null,
    searchedFrom: hasNextPage ? (list.data?.pages.at(-1)?.searched_from ?? null) : null,
    isLoading: newest.isPending || (isReady && list.isPending) || (groups.length === 0 && hasNextPage),
    isOld: list.isPlaceholderData,
    error: newest.error ?? list.error,
    retry: () => {
      void newest.refetch();
      if (isReady) void list.refetch();
    },
  };
}

/** The group that is read where none is chosen: the first one, also when newer ones come before it. `view` names what is
 * listed; null: it is not there yet, and the list of another one stands in its place. */
function useFirst(groups: readonly RolloutGroup[], view: string | null): RolloutGroup | null {
  const read = useRef<{ view: string | null; key: string | null }>({ view: null, key: null });
  const isNewView = view !== null && read.current.view !== view;
  const kept = isNewView ? undefined : groups.find((group) => keyOf(group) === read.current.key);
  const first = kept ?? groups[0] ?? null;
  if (view !== null) read.current = { view, key: keyOf(first ?? undefined) };
  return first;
}

/** A link to a rollout alone leads into its iteration. */
function useLinkedIteration(runId: string, { rollout, iteration, step, all }: RolloutsSearch) {
  const isAlone = rollout !== undefined && iteration === undefined && step === undefined && !all;
  const { data, isPending } = useQuery({ ...rolloutOptions(runId, rollout ?? ""), enabled: isAlone });
  return {
    iteration: isAlone && data?.rollout_id === rollout ? data?.iteration : undefined,
    isPending: isAlone && isPending,
  };
}

function useFilter(search: RolloutsSearch, iteration: number | null): GroupsFilter {
  const q = useDebounced(search.q ?? "");
  const { step, fate, reason, truncated, reward_min, reward_max } = search;
  return {
    ...(iteration !== null && { iteration }),
    ...(step !== undefined && { step }),
    ...(q !== "" && { q }),
    ...(fate !== undefined && { fate }),
    ...(reason !== undefined && { reason }),
    ...(truncated && { truncated }),
    ...(reward_min !== undefined && { reward_min }),
    ...(reward_max !== undefined && { reward_max }),
  };
}

function chosenGroup(groups: readonly RolloutGroup[], search: RolloutsSearch): RolloutGroup | null {
  const { rollout, group } = search;
  return (
    groups.find(({ rollouts }) => rollouts.some(({ rollout_id }) => rollout_id === rollout)) ??
    groups.find(({ group_id }) => group_id === group) ??
    null
  );
}

/** The chosen rollout; the best one of a group of which none is chosen. */
function rolloutOf(group: RolloutGroup | null, { rollout }: RolloutsSearch): string | null {
  const own = group?.rollouts ?? [];
  if (own.some(({ rollout_id }) => rollout_id === rollout)) return rollout ?? null;
  return own[0]?.rollout_id ?? null;
}
