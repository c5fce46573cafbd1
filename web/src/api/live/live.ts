/** Joins the live stream and takes each event to where it is used. Called once, by the app. */
import type { QueryClient } from "@tanstack/react-query";
import { announce } from "@/lib/announcements";
import { formatCount } from "@/lib/numbers";
import { patchRun } from "../run-cache";
import type { RunSummary, StepsFrame } from "../types";
import { setStreamStatus, streamStatus } from "./connection";
import { deliverResync, deliverSteps } from "./frames";
import type { FromHolder, StreamEvent, StreamStatus } from "./messages";
import { notePace } from "./pace";
import { openTransport } from "./transport";

/** A break shorter than this is mended without a word. */
const NOTICED_BREAK_MS = 2000;
/** Steps that arrive within this time of the mending were missed during the break. */
const CATCH_UP_MS = 1500;
/** Many runs may change at once; the list is asked again once for all of them. */
const LIST_DELAY_MS = 400;

let retryNow = (): void => {};

/** Tries to connect at once. */
export function retryConnection(): void {
  retryNow();
}

/** Follows the stream until the returned function is called. */
export function followLive(queryClient: QueryClient): () => void {
  const follower = new LiveFollower(queryClient);
  const transport = openTransport((message) => follower.receive(message));
  retryNow = () => transport.retry();
  return () => transport.close();
}

class LiveFollower {
  readonly #queryClient: QueryClient;
  #listTimer: ReturnType<typeof setTimeout> | null = null;
  #caughtUpSteps: number | null = null;

  constructor(queryClient: QueryClient) {
    this.#queryClient = queryClient;
  }

  receive(message: FromHolder): void {
    if (message.type === "status") this.#onStatus(message);
    else this.#onEvent(message);
  }

  #onEvent(event: StreamEvent): void {
    if (event.name === "run") this.#onRun(JSON.parse(event.data));
    else if (event.name === "steps") this.#onSteps(JSON.parse(event.data));
    else this.#onResync();
  }

  #onRun(run: RunSummary): void {
    notePace(run);
    if (!patchRun(this.#queryClient, run) || this.#listTimer !== null) return;
    this.#listTimer = setTimeout(() => {
      this.#listTimer = null;
      this.#queryClient.invalidateQueries({ queryKey: ["runs"] });
    }, LIST_DELAY_MS);
  }

  #onSteps(frame: StepsFrame): void {
    if (this.#caughtUpSteps !== null) this.#caughtUpSteps += frame.step.length;
    deliverSteps(frame);
  }

  #onResync(): void {
    this.#queryClient.invalidateQueries();
    deliverResync();
  }

  #onStatus(next: StreamStatus): void {
    const last = streamStatus();
    setStreamStatus(next);
    if (!next.isOpen || last.isOpen) return;
    this.#queryClient.refetchQueries({ predicate: (query) => query.state.status === "error" });
    if (next.since - last.since > NOTICED_BREAK_MS) this.#countMissedSteps();
  }

  #countMissedSteps(): void {
    this.#caughtUpSteps = 0;
    setTimeout(() => {
      const steps = this.#caughtUpSteps ?? 0;
      this.#caughtUpSteps = null;
      if (steps > 0) announce(`Caught up: ${formatCount(steps, "step")}`);
    }, CATCH_UP_MS);
  }
}
