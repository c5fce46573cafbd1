/** What the holder of the one event stream and the tabs of a browser say to each other. */
import type { NewsName } from "./news";

export type StreamEventName = "run" | "steps" | "resync" | NewsName;

/** An event as it came, its data still as text: parsed only in the tabs that use it. */
export interface StreamEvent {
  type: "event";
  name: StreamEventName;
  /** `epoch-sequence`, to resume from. */
  id: string;
  data: string;
}

export interface StreamStatus {
  type: "status";
  isOpen: boolean;
  /** When it opened or broke, in ms since 1970. */
  since: number;
  /** When the next try begins, in ms since 1970; null while open or while a try is under way. */
  retryAt: number | null;
  /** Since when nothing was missed, in ms since 1970, through breaks that were mended by a cursor; null: never open.
   * Another value than before: what happened in between is not told. */
  unbrokenSince: number | null;
}

/** From the transport itself: this tab heard nothing for a while, whatever the status says next. */
export interface TabWasAway {
  type: "away";
}

export type FromHolder = StreamEvent | StreamStatus;

/** `hello`: tell me the status. `retry`: try now. */
export type FromTab = { type: "hello" } | { type: "retry" } | { type: "bye" };
