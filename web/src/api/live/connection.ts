/** How the connection stands, in the words of the top bar. Pure but for the little store at the end. */
import { useSyncExternalStore } from "react";
import { useNow } from "@/lib/use-now";
import type { StreamStatus } from "./messages";

const RECONNECTING_AFTER_MS = 2000;
const STALE_AFTER_MS = 10_000;

export type Connection =
  | { kind: "live" }
  /** Broken, or not yet open, for more than 2 s. */
  | { kind: "reconnecting"; retryInS: number | null }
  /** For more than 10 s: what is shown was known at `since`. */
  | { kind: "stale"; since: Date; retryInS: number | null };

export function connectionAt(status: StreamStatus, now: number): Connection {
  const brokenMs = now - status.since;
  if (status.isOpen || brokenMs <= RECONNECTING_AFTER_MS) return { kind: "live" };
  const retryInS = status.retryAt === null ? null : Math.max(0, Math.ceil((status.retryAt - now) / 1000));
  if (brokenMs <= STALE_AFTER_MS) return { kind: "reconnecting", retryInS };
  return { kind: "stale", since: new Date(status.since), retryInS };
}

let status: StreamStatus = {
  type: "status",
  isOpen: false,
  since: Date.now(),
  retryAt: null,
  unbrokenSince: null,
};
const listeners = new Set<() => void>();

export function setStreamStatus(next: StreamStatus): void {
  status = next;
  for (const listener of listeners) listener();
}

export function streamStatus(): StreamStatus {
  return status;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Live · Reconnecting · Stale, kept true while time passes. */
export function useConnection(): Connection {
  const current = useSyncExternalStore(subscribe, streamStatus);
  return connectionAt(current, useNow(1000));
}
