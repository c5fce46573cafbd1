/** How a tab takes part in the browser's one stream: by a SharedWorker, by a leading tab, or by a stream of its own.
 *
 * A tab is told the status first, then every event after it. Where it may have missed some it says `away` to its own
 * receiver; the status that follows counts as the first one.
 */
import { EventStream } from "./event-stream";
import type { FromHolder, FromTab, TabWasAway } from "./messages";

const EVENTS_URL = "/api/v1/events";
const NAME = "swell-live";
const AWAY: TabWasAway = { type: "away" };

export interface Transport {
  retry(): void;
  close(): void;
}

export type Receive = (message: FromHolder | TabWasAway) => void;

/** Joins by the best means that this browser has. */
export function openTransport(receive: Receive): Transport {
  if (typeof SharedWorker !== "undefined") {
    try {
      return joinWorker(receive);
    } catch {
      // Some browsers have the class and forbid its use, for instance in private windows.
    }
  }
  if (typeof BroadcastChannel !== "undefined" && navigator.locks) return joinLeader(receive);
  return new EventStream({ url: EVENTS_URL, emit: receive });
}

function joinWorker(receive: Receive): Transport {
  let own: EventStream | null = null;
  const connect = () => {
    const worker = new SharedWorker(new URL("./live-worker.ts", import.meta.url), {
      type: "module",
      name: NAME,
    });
    worker.port.onmessage = ({ data }: MessageEvent<FromHolder>) => receive(data);
    worker.onerror = () => {
      own ??= new EventStream({ url: EVENTS_URL, emit: receive });
    };
    return worker.port;
  };
  let port = connect();
  const say = (message: FromTab) => port.postMessage(message);
  const leave = () => {
    say({ type: "bye" });
    port.close();
  };
  const stopReturns = onReturn(leave, () => {
    receive(AWAY);
    // The worker may have ended while its last page lay in the browser's cache.
    port = connect();
    say({ type: "hello" });
  });
  say({ type: "hello" });
  return {
    retry: () => (own ? own.retry() : say({ type: "retry" })),
    close: () => {
      own?.close();
      stopReturns();
      leave();
    },
  };
}

/** The tab that holds the lock holds the stream and tells the others. When it closes, the next one goes on after the
 * last event that it has seen itself. */
function joinLeader(receive: Receive): Transport {
  const channel = new BroadcastChannel(NAME);
  const abort = new AbortController();
  let lastId: string | null = null;
  let unbrokenSince: number | null = null;
  let stream: EventStream | null = null;
  const take = (message: FromHolder) => {
    if (message.type === "status") unbrokenSince = message.unbrokenSince;
    else if (message.id !== "") lastId = message.id;
    receive(message);
  };
  channel.onmessage = ({ data }: MessageEvent<FromHolder | FromTab>) => {
    if (data.type === "event" || data.type === "status") take(data);
    else if (data.type === "retry") stream?.retry();
    else if (data.type === "hello" && stream) channel.postMessage(stream.status);
  };
  const lead = () => {
    const emit = (message: FromHolder) => {
      take(message);
      channel.postMessage(message);
    };
    stream = new EventStream({ url: EVENTS_URL, lastId, unbrokenSince, emit });
    return new Promise<void>((resolve) => abort.signal.addEventListener("abort", () => resolve()));
  };
  navigator.locks.request(NAME, { signal: abort.signal }, lead).catch(() => {});
  const hello = () => channel.postMessage({ type: "hello" } satisfies FromTab);
  const stopReturns = onReturn(
    () => {},
    () => {
      lastId = null;
      receive(AWAY);
      if (stream) receive(stream.status);
      else hello();
    },
  );
  hello();
  return {
    retry: () => (stream ? stream.retry() : channel.postMessage({ type: "retry" } satisfies FromTab)),
    close: () => {
      stopReturns();
      abort.abort();
      stream?.close();
      channel.close();
    },
  };
}

/** A page that leaves may come back from the browser's cache as it was, after minutes. */
function onReturn(leave: () => void, comeBack: () => void): () => void {
  const onShow = (event: PageTransitionEvent) => {
    if (event.persisted) comeBack();
  };
  addEventListener("pagehide", leave);
  addEventListener("pageshow", onShow);
  return () => {
    removeEventListener("pagehide", leave);
    removeEventListener("pageshow", onShow);
  };
}
