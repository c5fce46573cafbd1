/** A SharedWorker: holds the browser's one stream for all tabs. It ends with the last of them. */
import { EventStream } from "./event-stream";
import type { FromHolder, FromTab } from "./messages";

interface SharedWorkerScope {
  onconnect: ((event: MessageEvent) => void) | null;
}

const ports = new Set<MessagePort>();
const url = new URL("/api/v1/events", self.location.origin).href;
const stream = new EventStream({ url, emit: broadcast });

function broadcast(message: FromHolder): void {
  for (const port of ports) port.postMessage(message);
}

(self as unknown as SharedWorkerScope).onconnect = (event) => {
  const port = event.ports[0];
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<FromTab>) => {
    if (data.type === "bye") ports.delete(port);
    if (data.type === "retry") stream.retry();
    if (data.type === "hello") {
      ports.add(port);
      port.postMessage(stream.status);
      // A tab that opens while a try is waited for: it may just have logged in.
      if (stream.status.retryAt !== null) stream.retry();
    }
  };
};
