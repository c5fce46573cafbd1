/** Reads a log in pages for as long as somebody looks at it: from its end or around a line, both ways, and what comes.
 * Lines never pass through Query: they may be many, and each is asked for once. */
import type { LogPageRequest } from "@/api/logs";
import type { LogLine, LogPage } from "@/api/types";
import { indexOf, type LogWindow, NO_LINES, windowOf, withNewer, withOlder } from "./log-window";

export type FetchLogPage = (request: LogPageRequest, signal: AbortSignal) => Promise<LogPage>;

export interface LogState {
  window: LogWindow;
  /** Everybody who wrote any line. */
  sources: readonly string[];
  isLoading: boolean;
  error: Error | null;
}

const PAGE_SIZE = 500;

export class LogReader {
  readonly #fetch: FetchLogPage;
  readonly #listeners = new Set<() => void>();
  #abort = new AbortController();
  #state: LogState = { window: NO_LINES, sources: [], isLoading: true, error: null };
  #isNewerUnderWay = false;
  #isOlderUnderWay = false;
  #wasToldMeanwhile = false;

  constructor(fetchPage: FetchLogPage) {
    this.#fetch = fetchPage;
  }

  get state(): LogState {
    return this.#state;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#abort.abort();
  }

  /** Begins anew at the end, or around the line with this id. */
  async open(line: number | null): Promise<void> {
    this.#abort.abort();
    this.#abort = new AbortController();
    [this.#isNewerUnderWay, this.#isOlderUnderWay, this.#wasToldMeanwhile] = [false, false, false];
    this.#set({ isLoading: true });
    await this.#guarded(async (signal) => {
      const window = line === null ? await this.#tail(signal) : await this.#around(line, signal);
      this.#set({ window, isLoading: false });
    });
    if (this.#wasToldMeanwhile) await this.newer();
  }

  async older(): Promise<void> {
    const { before } = this.#state.window;
    if (before === null || this.#isOlderUnderWay) return;
    this.#isOlderUnderWay = true;
    await this.#guarded(async (signal) => {
      const page = await this.#page({ before, limit: PAGE_SIZE }, signal);
      this.#set({ window: withOlder(this.#state.window, page) });
    });
    this.#isOlderUnderWay = false;
  }

  /** The lines after the last one: a page of them, or with `all` as many as there are. */
  async newer(all = false): Promise<void> {
    if (this.#isNewerUnderWay || this.#state.isLoading) {
      this.#wasToldMeanwhile = true;
      return;
    }
    this.#isNewerUnderWay = true;
    await this.#guarded(async (signal) => {
      do {
        this.#wasToldMeanwhile = false;
        const page = await this.#page({ after: this.#state.window.after, limit: PAGE_SIZE }, signal);
        this.#set({ window: withNewer(this.#state.window, page) });
      } while (this.#wasToldMeanwhile || (all && this.#state.window.hasAfter));
    });
    this.#isNewerUnderWay = false;
  }

  /** A page that looked at many lines may have found none and yet not be the last. */
  async #tail(signal: AbortSignal): Promise<LogWindow> {
    let window = windowOf(await this.#page({ limit: PAGE_SIZE }, signal));
    while (window.lines.length === 0 && window.before !== null) {
      window = withOlder(window, await this.#page({ before: window.before, limit: PAGE_SIZE }, signal));
    }
    return window;
  }

  async #around(line: number, signal: AbortSignal): Promise<LogWindow> {
    const [older, newer] = await Promise.all([
      line > 0 ? this.#page({ before: line, limit: PAGE_SIZE }, signal) : null,
      this.#page({ after: Math.max(0, line - 1), limit: PAGE_SIZE }, signal),
    ]);
    const window = windowOf(newer);
    return older ? withOlder(window, older) : { ...window, before: null };
  }

  async #page(request: LogPageRequest, signal: AbortSignal): Promise<LogPage> {
    const page = await this.#fetch(request, signal);
    if (page.sources.length !== this.#state.sources.length) this.#set({ sources: page.sources });
    return page;
  }

  async #guarded(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#abort;
    try {
      await work(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#set({ isLoading: false, error: error instanceof Error ? error : new Error(String(error)) });
    }
  }

  #set(change: Partial<LogState>): void {
    this.#state = { ...this.#state, error: null, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** The number of lines that came after the one with this id. */
export function countAfter(lines: readonly LogLine[], id: number): number {
  const at = indexOf(lines, id + 1);
  return at === -1 ? 0 : lines.length - at;
}
