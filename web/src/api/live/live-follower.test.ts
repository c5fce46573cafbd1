import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Run, RunList, RunSummary, StepsFrame } from "../types";
import { setStreamStatus } from "./connection";
import { subscribeResync } from "./frames";
import { LiveFollower } from "./live-follower";
import type { StreamEventName, StreamStatus } from "./messages";
import { subscribeNews } from "./news";

function run(state: RunSummary["state"], id = "a"): RunSummary {
  return { id, state, num_steps: 0, last: null } as unknown as RunSummary;
}

function status(given: Partial<StreamStatus> = {}): StreamStatus {
  return { type: "status", isOpen: true, since: 0, retryAt: null, unbrokenSince: 1, ...given };
}

const CONNECTING = status({ isOpen: false, unbrokenSince: null });

/** A page that looks at `queryKey`, and a server whose answers are given one by one. */
function openPage<Data>(queryKey: readonly unknown[], queryClient = new QueryClient()) {
  const answers: ((data: Data) => void)[] = [];
  const observer = new QueryObserver<Data>(queryClient, {
    queryKey,
    queryFn: () => new Promise<Data>((answer) => answers.push(answer)),
    staleTime: 30_000,
  });
  observer.subscribe(() => {});
  const follower = new LiveFollower(queryClient);
  const tell = (name: StreamEventName, data: object) =>
    follower.receive({ type: "event", name, id: "e-1", data: JSON.stringify(data) });
  const answer = async (index: number, data: Data) => {
    answers[index]?.(data);
    await vi.advanceTimersByTimeAsync(0);
  };
  return {
    queryClient,
    follower,
    tell,
    answer,
    answers,
    data: () => queryClient.getQueryData<Data>(queryKey),
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  setStreamStatus(CONNECTING);
});
afterEach(() => {
  vi.useRealTimers();
});

test("what was fetched before the stream opened is asked again", async () => {
  const page = openPage<RunSummary>(["run", "a"]);
  await page.answer(0, run("starting"));
  page.follower.receive(CONNECTING);
  expect(page.answers).toHaveLength(1);
  page.follower.receive(status());
  await page.answer(1, run("running"));
  expect(page.data()?.state).toBe("running");
});

test("what is on its way when the stream opens is asked again", async () => {
  const page = openPage<RunSummary>(["run", "a"]);
  page.follower.receive(status());
  await page.answer(0, run("starting"));
  await page.answer(1, run("running"));
  expect([page.data()?.state, page.answers.length]).toEqual(["running", 2]);
});

test("a tab that joins an open stream before it fetches asks once", async () => {
  const queryClient = new QueryClient();
  new LiveFollower(queryClient).receive(status());
  const page = openPage<RunSummary>(["run", "a"], queryClient);
  await page.answer(0, run("running"));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(page.answers).toHaveLength(1);
});

test("a break that was mended without a gap asks for nothing again", async () => {
  const page = openPage<RunSummary>(["run", "a"]);
  page.follower.receive(status());
  await page.answer(0, run("running"));
  await page.answer(1, run("running"));
  page.follower.receive(status({ isOpen: false }));
  page.follower.receive(status());
  await vi.advanceTimersByTimeAsync(0);
  expect(page.answers).toHaveLength(2);
});

test.each([
  [
    "a stream that opened anew",
    (page: ReturnType<typeof openPage>) => page.follower.receive(status({ unbrokenSince: 2 })),
  ],
  ["a holder that missed events", (page: ReturnType<typeof openPage>) => page.tell("resync", {})],
  [
    "a tab that comes back from the browser's cache",
    (page: ReturnType<typeof openPage>) => {
      page.follower.receive({ type: "away" });
      page.follower.receive(status());
    },
  ],
])("%s asks for everything again, charts too", async (_, happens) => {
  const onResync = vi.fn();
  const stop = subscribeResync(onResync);
  const page = openPage<unknown>(["run", "a"]);
  page.follower.receive(status());
  await page.answer(0, run("starting"));
  await page.answer(1, run("starting"));
  expect(onResync).toHaveBeenCalledTimes(1);
  happens(page);
  await page.answer(2, run("running"));
  expect(page.data()).toMatchObject({ state: "running" });
  expect(onResync).toHaveBeenCalledTimes(2);
  stop();
});

test("an event is not undone by an answer that was on its way", async () => {
  const page = openPage<Run>(["run", "a"]);
  page.tell("run", run("running"));
  await page.answer(0, run("starting") as Run);
  expect(page.data()?.state).toBe("running");
});

test("a run that was made while the first list was on its way comes into the list", async () => {
  const page = openPage<{ pages: RunList[] }>(["runs", {}]);
  const list = (...items: RunSummary[]) => ({
    pages: [{ items, next_cursor: null, total: items.length, by_state: {} }],
    pageParams: [null],
  });
  page.tell("run", run("queued", "b"));
  await page.answer(0, list(run("running")));
  await vi.advanceTimersByTimeAsync(1000);
  await page.answer(1, list(run("queued", "b"), run("running")));
  expect(page.data()?.pages[0]?.items).toHaveLength(2);
});

test("a cached step that a later attempt trained again is asked again, and no other", async () => {
  const page = openPage<string>(["step", "a", 7]);
  await page.answer(0, "attempt 1");
  page.tell("steps", { run: "a", attempt: 1, step: [6, 8] } satisfies Partial<StepsFrame>);
  await vi.advanceTimersByTimeAsync(0);
  expect(page.answers).toHaveLength(1);
  page.tell("steps", { run: "a", attempt: 2, step: [7] } satisfies Partial<StepsFrame>);
  await page.answer(1, "attempt 2");
  expect(page.data()).toBe("attempt 2");
});

test("news of a run make only its own answers old, and reach whoever asked for them", async () => {
  const page = openPage(["rollouts", "a", {}]);
  await page.answer(0, {});
  const told = vi.fn();
  const stop = subscribeNews("logs", "a", told);
  page.tell("iteration", { run: "b" });
  page.tell("logs", { run: "a" });
  expect([page.answers.length, told.mock.calls.length]).toEqual([1, 1]);
  page.tell("iteration", { run: "a" });
  await page.answer(1, {});
  expect(page.answers).toHaveLength(2);
  stop();
  page.tell("logs", { run: "a" });
  expect(told).toHaveBeenCalledTimes(1);
});
