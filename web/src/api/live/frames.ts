/** Takes steps frames to the charts. They never pass through React state. */
import type { StepsFrame } from "../types";

type OnSteps = (frame: StepsFrame) => void;

const byRun = new Map<string, Set<OnSteps>>();
const onResync = new Set<() => void>();

/** Calls back with every frame of this run, in order, until the returned function is called. A frame may repeat steps
 * that a history asked for at the same time already holds: go by the step number. */
export function subscribeSteps(runId: string, callback: OnSteps): () => void {
  const callbacks = byRun.get(runId) ?? new Set();
  byRun.set(runId, callbacks.add(callback));
  return () => {
    callbacks.delete(callback);
    if (callbacks.size === 0) byRun.delete(runId);
  };
}

/** Calls back when frames were missed that nobody can send again: ask for the history anew. */
export function subscribeResync(callback: () => void): () => void {
  onResync.add(callback);
  return () => onResync.delete(callback);
}

export function deliverSteps(frame: StepsFrame): void {
  for (const callback of byRun.get(frame.run) ?? []) callback(frame);
}

export function deliverResync(): void {
  for (const callback of onResync) callback();
}
