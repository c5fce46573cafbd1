/** What the stream tells of a run beside its steps: that there is something to ask for. Pages that keep pages of their
 * own, as the logs do, are called; what Query caches is asked again. */

export const NEWS_NAMES = ["event", "logs", "iteration", "checkpoint"] as const;
export type NewsName = (typeof NEWS_NAMES)[number];

/** Kinds of queries, whose keys go on with the run, that each kind of news makes old. */
export const MADE_OLD: Record<NewsName, readonly string[]> = {
  event: ["events"],
  logs: [],
  iteration: ["iterations", "rollouts", "rollout", "ledger", "advisories"],
  checkpoint: ["checkpoints"],
};

export function isNews(name: string): name is NewsName {
  return NEWS_NAMES.some((one) => one === name);
}

const callbacks = new Map<string, Set<() => void>>();

function keyOf(name: NewsName, runId: string): string {
  return `${name} ${runId}`;
}

/** Calls back with every news of this kind of this run, until the returned function is called. */
export function subscribeNews(name: NewsName, runId: string, callback: () => void): () => void {
  const key = keyOf(name, runId);
  const own = callbacks.get(key) ?? new Set();
  callbacks.set(key, own.add(callback));
  return () => {
    own.delete(callback);
    if (own.size === 0) callbacks.delete(key);
  };
}

export function deliverNews(name: NewsName, runId: string): void {
  for (const callback of callbacks.get(keyOf(name, runId)) ?? []) callback();
}
