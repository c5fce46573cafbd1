/** Asks the server again for what is cached, also where an answer is still on its way. For whoever learns that answers
 * may be older than what is known: the live stream when it joins, and actions.
 *
 *      asked ─────────── change ─ told ─────── answer      the answer may be from before the change,
 *                                   └ again ──────┴──► asked once more
 *
 * Query restarts a request only where it has data already; the first answer to a key needs this file.
 */
import type { Query, QueryClient, QueryFilters } from "@tanstack/react-query";

/** Like `invalidateQueries`; a first request that is under way is followed by another. */
export function askAgain(queryClient: QueryClient, filters: QueryFilters = {}): void {
  const early = underWay(queryClient, filters).filter(({ state }) => state.data === undefined);
  void queryClient.invalidateQueries(filters);
  for (const query of early) {
    whenSettled(query, () => void queryClient.invalidateQueries({ queryKey: query.queryKey, exact: true }));
  }
}

/** Queries whose answer is on its way. */
export function underWay(queryClient: QueryClient, filters: QueryFilters): Query[] {
  return queryClient.getQueryCache().findAll({ ...filters, fetchStatus: "fetching" });
}

/** Calls back once, after the answer that is on its way is in the cache, or has failed. */
export function whenSettled(query: Query, callback: () => void): void {
  // A query that is fetching returns the promise of that fetch.
  void query.fetch().then(callback, callback);
}
