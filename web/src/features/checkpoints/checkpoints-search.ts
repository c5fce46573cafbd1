/** What of the checkpoints is shown, in the URL. */
export interface CheckpointsSearch {
  /** Also those that have been removed. */
  removed?: boolean;
}

export function parseCheckpointsSearch(raw: Record<string, unknown>): CheckpointsSearch {
  return raw.removed === true ? { removed: true } : {};
}
