/** Holds one EventSource open for good: resumes after the last event, and tries again when the browser gives up.
 *
 * A browser reconnects by itself with Last-Event-ID, but ends for good on an answer that is no stream (a restart behind
 * a proxy, 401, 503). Then a new source is opened with ?cursor=, after a delay that grows. A network that goes silent is no
 * error to it: so is a new one when nothing came for longer than the server's pings are apart.
 */
import type { FromHolder, StreamEventName, StreamStatus } from "./messages";
import { NEWS_NAMES } from "./news";

const EVENT_NAMES: readonly StreamEventName[] = ["run", "steps", "resync", ...NEWS_NAMES];
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 10_000;
/** Two pings of the server, and some. */
const SILENCE_MS = 40_000;

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
  #silence: ReturnType<typeof setTimeout> | undefined;
  #retryMs = FIRST_RETRY_MS;
  #lastId: string | null;
  #status: StreamStatus;
  readonly #open: (url: string) => Source;
  readonly #url: string;
  readonly #emit: (message: FromHolder) => void;

  constructor(given: {
    url: string;
    /** Where an earlier holder of the stream stopped, and since when it had missed nothing. */
    lastId?: string | null;
    unbrokenSince?: number | null;
    emit: (message: FromHolder) => void;
    open?: (url: string) => Source;
  }) {
    this.#url = given.url;
    this.#lastId = given.lastId ?? null;
    this.#emit = given.emit;
    this.#open = given.open ?? ((url) => new EventSource(url));
    const unbrokenSince = given.unbrokenSince ?? null;
    this.#status = { type: "status", isOpen: false, since: Date.now(), retryAt: null, unbrokenSince };
    this.#connect();
  }

  get status(): StreamStatus {
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
    clearTimeout(this.#silence);
  }

  #connect(): void {
    this.close();
    const cursor = this.#lastId === null ? "" : `?cursor=${encodeURIComponent(this.#lastId)}`;
    const source = this.#open(this.#url + cursor);
    this.#source = source;
    this.#setStatus({ isOpen: this.#status.isOpen, retryAt: null });
    source.onopen = () => this.#onOpen();
    source.onerror = () => this.#onError(source);
    source.addEventListener("ping", () => this.#watchSilence());
    for (const name of EVENT_NAMES) {
      source.addEventListener(name, (event) => {
        this.#watchSilence();
        if (event.lastEventId !== "") this.#lastId = event.lastEventId;
        this.#emit({ type: "event", name, id: event.lastEventId, data: event.data });
      });
    }
  }

  #onOpen(): void {
    this.#retryMs = FIRST_RETRY_MS;
    this.#watchSilence();
    // Before the first event there is no id to resume from: nobody can tell what was missed.
    const isResumed = this.#lastId !== null && this.#status.unbrokenSince !== null;
    this.#setStatus({ isOpen: true, retryAt: null, ...(!isResumed && { unbrokenSince: Date.now() }) });
  }

  #watchSilence(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#setStatus({ isOpen: false, retryAt: null });
      this.#connect();
    }, SILENCE_MS);
  }

  #onError(source: Source): void {
    if (source !== this.#source) return;
    clearTimeout(this.#silence);
    if (source.readyState !== CLOSED) {
      this.#setStatus({ isOpen: false, retryAt: null });
      return;
    }
    this.#timer = setTimeout(() => this.#connect(), this.#retryMs);
    this.#setStatus({ isOpen: false, retryAt: Date.now() + this.#retryMs });
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  #setStatus(change: Pick<StreamStatus, "isOpen" | "retryAt"> & Partial<StreamStatus>): void {
    const since = change.isOpen === this.#status.isOpen ? this.#status.since : Date.now();
    this.#status = { ...this.#status, since, ...change };
    this.#emit(this.#status);
  }
}
