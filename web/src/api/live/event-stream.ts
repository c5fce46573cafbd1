/** Holds one EventSource open for good: resumes after the last event, and tries again when the browser gives up.
 *
 * A browser reconnects by itself with Last-Event-ID, but ends for good on an answer that is no stream (a restart behind
 * a proxy, 401, 503). Then a new source is opened with ?cursor=, after a delay that grows.
 */
import type { FromHolder, StreamEventName } from "./messages";

const EVENT_NAMES: readonly StreamEventName[] = ["run", "steps", "resync"];
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 10_000;

/** The part of EventSource that is used, so that tests can give another. */
export interface Source {
  readonly readyState: number;
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

const CLOSED = 2;

export class EventStream {
  #source: Source | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #retryMs = FIRST_RETRY_MS;
  #lastId: string | null;
  #wasOpen = false;
  #status: Extract<FromHolder, { type: "status" }>;
  readonly #open: (url: string) => Source;
  readonly #url: string;
  readonly #emit: (message: FromHolder) => void;

  constructor(given: {
    url: string;
    /** Where an earlier holder of the stream stopped. */
    lastId?: string | null;
    emit: (message: FromHolder) => void;
    open?: (url: string) => Source;
  }) {
    this.#url = given.url;
    this.#lastId = given.lastId ?? null;
    this.#emit = given.emit;
    this.#open = given.open ?? ((url) => new EventSource(url));
    this.#status = { type: "status", isOpen: false, since: Date.now(), retryAt: null };
    this.#connect();
  }

  get status(): Extract<FromHolder, { type: "status" }> {
    return this.#status;
  }

  /** Tries at once instead of waiting; nothing happens while the stream is open. */
  retry(): void {
    if (this.#status.isOpen) return;
    this.#connect();
  }

  close(): void {
    this.#source?.close();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #connect(): void {
    this.close();
    const cursor = this.#lastId === null ? "" : `?cursor=${encodeURIComponent(this.#lastId)}`;
    const source = this.#open(this.#url + cursor);
    this.#source = source;
    this.#setStatus(this.#status.isOpen, null);
    source.onopen = () => this.#onOpen(cursor === "");
    source.onerror = () => this.#onError(source);
    for (const name of EVENT_NAMES) {
      source.addEventListener(name, (event) => {
        if (event.lastEventId !== "") this.#lastId = event.lastEventId;
        this.#emit({ type: "event", name, id: event.lastEventId, data: event.data });
      });
    }
  }

  #onOpen(isWithoutCursor: boolean): void {
    this.#retryMs = FIRST_RETRY_MS;
    // The break came before the first event: nobody can tell what was missed.
    if (isWithoutCursor && this.#wasOpen) this.#emit({ type: "event", name: "resync", id: "", data: "{}" });
    this.#wasOpen = true;
    this.#setStatus(true, null);
  }

  #onError(source: Source): void {
    if (source !== this.#source) return;
    if (source.readyState !== CLOSED) {
      this.#setStatus(false, null);
      return;
    }
    this.#timer = setTimeout(() => this.#connect(), this.#retryMs);
    this.#setStatus(false, Date.now() + this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  #setStatus(isOpen: boolean, retryAt: number | null): void {
    const since = isOpen === this.#status.isOpen ? this.#status.since : Date.now();
    this.#status = { type: "status", isOpen, since, retryAt };
    this.#emit(this.#status);
  }
}
