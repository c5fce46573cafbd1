import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventStream, type Source } from "./event-stream";
import type { FromHolder } from "./messages";

class FakeSource implements Source {
  readyState = 0;
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  readonly listeners = new Map<string, (event: MessageEvent<string>) => void>();

  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void {
    this.listeners.set(name, listener);
  }

  close(): void {
    this.readyState = 2;
  }

  open(): void {
    this.readyState = 1;
    this.onopen?.(new Event("open"));
  }

  fail(readyState: number): void {
    this.readyState = readyState;
    this.onerror?.(new Event("error"));
  }

  send(name: string, lastEventId: string, data: string): void {
    this.listeners.get(name)?.({ lastEventId, data } as MessageEvent<string>);
  }
}

function startStream(lastId: string | null = null, unbrokenSince: number | null = null) {
  const sources: FakeSource[] = [];
  const messages: FromHolder[] = [];
  const stream = new EventStream({
    url: "/events",
    lastId,
    unbrokenSince,
    emit: (message) => messages.push(message),
    open: (url) => {
      const source = new FakeSource(url);
      sources.push(source);
      return source;
    },
  });
  const newest = () => sources.at(-1) as FakeSource;
  return { stream, sources, messages, newest };
}

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});

afterEach(() => {
  vi.useRealTimers();
});

test("events are handed on as they came", () => {
  const { newest, messages } = startStream();
  newest().open();
  newest().send("steps", "e-7", '{"run":"a"}');
  expect(messages.at(-1)).toEqual({ type: "event", name: "steps", id: "e-7", data: '{"run":"a"}' });
});

test("a break that the browser mends by itself opens no second source", () => {
  const { stream, sources, newest } = startStream();
  newest().open();
  newest().fail(0);
  vi.advanceTimersByTime(60_000);
  expect(sources).toHaveLength(1);
  expect(stream.status).toMatchObject({ isOpen: false, since: 1_000_000 });
  newest().open();
  expect(stream.status.isOpen).toBe(true);
});

test("a source that ended is opened again after the last event", () => {
  const { sources, newest } = startStream();
  newest().open();
  newest().send("run", "e/7", "{}");
  newest().fail(2);
  vi.advanceTimersByTime(1000);
  expect(sources.map((source) => source.url)).toEqual(["/events", "/events?cursor=e%2F7"]);
});

test("a break after an event is mended without a gap", () => {
  const { stream, newest } = startStream();
  newest().open();
  newest().send("run", "e-7", "{}");
  vi.advanceTimersByTime(5000);
  newest().fail(2);
  vi.advanceTimersByTime(1000);
  newest().open();
  expect(stream.status).toMatchObject({ isOpen: true, unbrokenSince: 1_000_000 });
});

test.each([0, 2])(
  "a break before the first event is a gap, whoever mends it (readyState %d)",
  (readyState) => {
    const { stream, newest } = startStream();
    newest().open();
    vi.advanceTimersByTime(5000);
    newest().fail(readyState);
    vi.advanceTimersByTime(1000);
    newest().open();
    expect(stream.status).toMatchObject({ isOpen: true, unbrokenSince: 1_006_000 });
  },
);

test("tries grow apart, and are told", () => {
  const { stream, newest } = startStream();
  const waits = [1, 2, 3, 4, 5, 6].map(() => {
    newest().fail(2);
    const wait = (stream.status.retryAt ?? 0) - Date.now();
    vi.advanceTimersByTime(wait);
    return wait;
  });
  expect(waits).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test("the time of the break stays while it is tried again", () => {
  const { stream, newest } = startStream();
  newest().open();
  vi.advanceTimersByTime(5000);
  newest().fail(2);
  const brokenAt = Date.now();
  vi.advanceTimersByTime(20_000);
  newest().fail(2);
  expect(stream.status.since).toBe(brokenAt);
});

test("a try on demand does not wait", () => {
  const { stream, sources, newest } = startStream();
  newest().fail(2);
  stream.retry();
  expect(sources).toHaveLength(2);
  vi.advanceTimersByTime(1000);
  expect(sources).toHaveLength(2);
});

test("a new holder goes on where the old one stopped", () => {
  const { stream, newest } = startStream("e-41", 700_000);
  expect(newest().url).toBe("/events?cursor=e-41");
  newest().open();
  expect(stream.status.unbrokenSince).toBe(700_000);
});

test("a stream that has gone silent is opened anew where it stopped", () => {
  const { stream, sources, newest } = startStream();
  newest().open();
  newest().send("steps", "e-7", "{}");
  vi.advanceTimersByTime(30_000);
  newest().send("ping", "", "{}");
  vi.advanceTimersByTime(39_000);
  expect(stream.status.isOpen).toBe(true);
  vi.advanceTimersByTime(1_000);
  expect(stream.status.isOpen).toBe(false);
  expect(sources.map((source) => source.url)).toEqual(["/events", "/events?cursor=e-7"]);
  newest().open();
  expect(stream.status).toMatchObject({ isOpen: true, unbrokenSince: 1_000_000 });
});
