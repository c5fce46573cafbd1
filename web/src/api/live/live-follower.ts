/** What a tab does with each message of the stream. It keeps the cache and the charts whole:
 *
 *      fetched or on its way ──── joined ──── events          before joining, changes are told to nobody here:
 *      └──────── asked again ───────┘                          ask again for everything from before
 *      asked ──── event ──── answer                            the answer may be older than the event:
 *                   └ kept ────┴──► put in again               put the event into the cache again after it
 */
import type { Query, QueryClient } from "@tanstack/react-query";
import { announce } from "@/lib/announcements";
import { formatCount } from "@/lib/numbers";
import { askAgain, underWay, whenSettled } from "../ask-again";
import { patchRun } from "../run-cache";
import type { RunSummary, StepsFrame } from "../types";
import { setStreamStatus, streamStatus } from "./connection";
import { deliverResync, deliverSteps } from "./frames";
import type { FromHolder, StreamEvent, StreamStatus, TabWasAway } from "./messages";
import { deliverNews, isNews, MADE_OLD, type NewsName } from "./news";
import { notePace } from "./pace";

/** A break shorter than this is mended without a word. */
const NOTICED_BREAK_MS = 2000;
/** Steps that arrive within this time of the mending were missed during the break. */
const CATCH_UP_MS = 1500;
/** Many runs may change at once; the list is asked again once for all of them. */
const LIST_DELAY_MS = 400;

/** Kinds of queries whose key goes on with a run and a step. */
const OF_STEPS: readonly unknown[] = ["step", "schedule", "whatif", "timeline"];

export class LiveFollower {
  readonly #queryClient: QueryClient;
  /** The unbroken stream that this tab hears all of; null: none yet. */
  #joined: number | null = null;
  #listTimer: ReturnType<typeof setTimeout> | null = null;
  #caughtUpSteps: number | null = null;

  constructor(queryClient: QueryClient) {
    this.#queryClient = queryClient;
  }

  receive(message: FromHolder | TabWasAway): void {
    if (message.type === "status") this.#onStatus(message);
    else if (message.type === "event") this.#onEvent(message);
    else this.#joined = null;
  }

  #onEvent(event: StreamEvent): void {
    if (event.name === "run") this.#onRun(JSON.parse(event.data));
    else if (event.name === "steps") this.#onSteps(JSON.parse(event.data));
    else if (isNews(event.name)) this.#onNews(event.name, JSON.parse(event.data).run);
    else this.#askAgain();
  }

  #onNews(name: NewsName, runId: string): void {
    const isOld = ({ queryKey: [kind, id] }: Query) =>
      typeof kind === "string" && MADE_OLD[name].includes(kind) && id === runId;
    askAgain(this.#queryClient, { predicate: isOld });
    deliverNews(name, runId);
  }

  #onRun(run: RunSummary): void {
    notePace(run);
    this.#putIn(run);
    const tells = ({ queryKey: [kind, id] }: Query) => kind === "runs" || (kind === "run" && id === run.id);
    for (const query of underWay(this.#queryClient, { predicate: tells })) {
      whenSettled(query, () => this.#putIn(run));
    }
  }

  #putIn(run: RunSummary): void {
    if (!patchRun(this.#queryClient, run) || this.#listTimer !== null) return;
    this.#listTimer = setTimeout(() => {
      this.#listTimer = null;
      askAgain(this.#queryClient, { queryKey: ["runs"] });
    }, LIST_DELAY_MS);
  }

  #onSteps(frame: StepsFrame): void {
    if (this.#caughtUpSteps !== null) this.#caughtUpSteps += frame.step.length;
    this.#forgetOldSteps(frame);
    deliverSteps(frame);
  }

  /** Steps that are cached and come again were trained again, by a later attempt. */
  #forgetOldSteps(frame: StepsFrame): void {
    const steps = new Set<unknown>(frame.step);
    const isOld = ({ queryKey: [kind, id, step] }: Query) =>
      OF_STEPS.includes(kind) && id === frame.run && steps.has(step);
    askAgain(this.#queryClient, { predicate: isOld });
  }

  #askAgain(): void {
    askAgain(this.#queryClient);
    deliverResync();
  }

  #onStatus(next: StreamStatus): void {
    const last = streamStatus();
    setStreamStatus(next);
    if (!next.isOpen) return;
    if (next.unbrokenSince !== this.#joined) {
      this.#joined = next.unbrokenSince;
      this.#askAgain();
    } else if (!last.isOpen) {
      askAgain(this.#queryClient, { predicate: (query) => query.state.status === "error" });
    }
    if (!last.isOpen && next.since - last.since > NOTICED_BREAK_MS) this.#countMissedSteps();
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
