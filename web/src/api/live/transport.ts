/** How a tab takes part in the browser's one stream: by a SharedWorker, by a leading tab, or by a stream of its own. */
import { EventStream } from "./event-stream";
import type { FromHolder, FromTab } from "./messages";

const EVENTS_URL = "/api/v1/events";
const NAME = "swell-live";

export interface Transport {
  retry(): void;
  close(): void;
}

export type Receive = (message: FromHolder) => void;

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
  const worker = new SharedWorker(new URL("./live-worker.ts", import.meta.url), {
    type: "module",
    name: NAME,
  });
  const say = (message: FromTab) => worker.port.postMessage(message);
  worker.port.onmessage = ({ data }: MessageEvent<FromHolder>) => receive(data);
  const hello = () => say({ type: "hello" });
  const bye = () => say({ type: "bye" });
  // A page that leaves may come back from the browser's cache, with the same worker port.
  addEventListener("pagehide", bye);
  addEventListener("pageshow", hello);
  hello();
  let own: EventStream | null = null;
  worker.onerror = () => {
    own ??= new EventStream({ url: EVENTS_URL, emit: receive });
  };
  return {
    retry: () => (own ? own.retry() : say({ type: "retry" })),
    close: () => {
      own?.close();
      removeEventListener("pagehide", bye);
      removeEventListener("pageshow", hello);
      bye();
      worker.port.close();
    },
  };
}

/** The tab that holds the lock holds the stream and tells the others. When it closes, the next one goes on after the
 * last event that it has seen itself. */
function joinLeader(receive: Receive): Transport {
  const channel = new BroadcastChannel(NAME);
  const abort = new AbortController();
  let lastId: string | null = null;
  let stream: EventStream | null = null;
  const take = (message: FromHolder) => {
    if (message.type === "event" && message.id !== "") lastId = message.id;
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
    stream = new EventStream({ url: EVENTS_URL, lastId, emit });
    return new Promise<void>((resolve) => abort.signal.addEventListener("abort", () => resolve()));
  };
  navigator.locks.request(NAME, { signal: abort.signal }, lead).catch(() => {});
  channel.postMessage({ type: "hello" } satisfies FromTab);
  return {
    retry: () => (stream ? stream.retry() : channel.postMessage({ type: "retry" } satisfies FromTab)),
    close: () => {
      abort.abort();
      stream?.close();
      channel.close();
    },
  };
}
