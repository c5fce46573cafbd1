import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { HistoryRequest } from "@/api/history";
import type { MetricHistory, Series, StepsFrame } from "@/api/types";
import { series } from "./factories";
import { RunHistory } from "./run-history";

const LOSS = "train/loss";

function frame(steps: number[], given: Partial<StepsFrame> = {}): StepsFrame {
  return {
    run: "r",
    attempt: 1,
    step: steps,
    samples: steps.map((step) => step * 10),
    tokens: steps.map((step) => step * 1000),
    time: steps,
    relative: steps,
    metrics: { [LOSS]: steps },
    ...given,
  };
}

/** A server whose answers are given one by one. */
function fakeServer() {
  const asked: {
    request: HistoryRequest;
    answer: (history: MetricHistory) => void;
    fail: (error: Error) => void;
  }[] = [];
  const fetch = (request: HistoryRequest) =>
    new Promise<MetricHistory>((answer, fail) => {
      asked.push({ request, answer, fail });
    });
  return { asked, fetch };
}

function answer(
  request: HistoryRequest,
  values: number[],
  given: Parameters<typeof series>[1] = {},
): MetricHistory {
  const scale = request.x === "samples" ? 10 : 1;
  const all = request.names.map((name): Series => {
    const one = series(values, given);
    return {
      ...one,
      run: "r",
      name,
      weight: values.map(() => 1),
      x: one.x.map((x) => x * scale),
    } as unknown as Series;
  });
  return { x: request.x, series: all, errors: [] };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("names that are wanted in one moment come in one answer", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  history.want(LOSS, 1000);
  history.want("global_batch_size", 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.map(({ request }) => request.names)).toEqual([[LOSS, "global_batch_size"]]);
});

test("steps that arrive while a history is on its way are neither lost nor doubled", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([2, 3]));
  history.receive(frame([4]));
  // The server had recorded step 2 when it answered.
  asked[0]?.answer(answer(asked[0].request, [0, 1, 2]));
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([4, 5]));
  expect(track.columns.step).toEqual([0, 1, 2, 3, 4, 5]);
});

test("a later request waits for the first answer", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  history.want(LOSS, 1000);
  history.want("train/lr", 1000, true);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked).toHaveLength(1);
  asked[0]?.answer(answer(asked[0].request, [0]));
  await vi.advanceTimersByTimeAsync(0);
  expect(asked[1]?.request.names).toEqual(["train/lr"]);
});

test("the points of another axis replace the old ones all at once", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  const [loss, batch] = [history.want(LOSS, 1000), history.want("global_batch_size", 300)];
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  for (const one of asked) one.answer(answer(one.request, [0, 1]));
  await vi.advanceTimersByTimeAsync(0);
  const axes: string[] = [];
  history.onAxis((x) => axes.push(x));
  history.setView({ x: "samples", range: null });
  history.receive(frame([2]));
  asked[2]?.answer(answer(asked[2].request, [0, 1]));
  await vi.advanceTimersByTimeAsync(0);
  expect(loss.columns.x).toEqual([0, 1, 2]);
  asked[3]?.answer(answer(asked[3].request, [0, 1]));
  await vi.advanceTimersByTimeAsync(0);
  expect(axes).toEqual(["samples"]);
  expect(loss.columns.x).toEqual([0, 10, 20]);
  expect(batch.columns.x).toEqual([0, 10]);
});

test("an attempt that trains known steps again asks for the whole", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.answer(answer(asked[0].request, [0, 1, 2, 3]));
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([2], { attempt: 2 }));
  expect(track.columns.step).toEqual([0, 1, 2, 3]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked).toHaveLength(2);
});

test("a new attempt that goes on behind the last step is simply appended", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.answer(answer(asked[0].request, [0, 1]));
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([2], { attempt: 2 }));
  await vi.advanceTimersByTimeAsync(1000);
  expect([track.columns.step, track.attemptAt(2), asked.length]).toEqual([[0, 1, 2], 2, 1]);
});

test("so many live points that buckets are due are asked for anew", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  history.want(LOSS, 10);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.answer(answer(asked[0].request, [0, 1, 2, 3, 4, 5, 6, 7, 8]));
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([9, 10]));
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked).toHaveLength(1);
  history.receive(frame([11]));
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked).toHaveLength(2);
});

test("a zoomed range takes live points that lie in it only", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: { from: 0, to: 3 } }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked[0]?.request).toMatchObject({ from: 0, to: 3 });
  asked[0]?.answer(answer(asked[0].request, [0, 1]));
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([2, 3, 4]));
  expect(track.columns.step).toEqual([0, 1, 2]);
});

test("what failed says so, and is ready after another try", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.fail(new Error("no answer"));
  await vi.advanceTimersByTimeAsync(0);
  expect(history.stateOf(track).kind).toBe("failed");
  history.retry(track);
  await vi.advanceTimersByTimeAsync(0);
  asked[1]?.answer(answer(asked[1].request, [0]));
  await vi.advanceTimersByTimeAsync(0);
  expect(history.stateOf(track).kind).toBe("ready");
});

test("an answer to an older range changes nothing", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  history.setView({ x: "step", range: { from: 5, to: 9 } });
  await vi.advanceTimersByTimeAsync(0);
  asked[1]?.answer(answer(asked[1].request, [5, 6], { first: 5 }));
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.answer(answer(asked[0].request, [0, 1, 2]));
  await vi.advanceTimersByTimeAsync(0);
  expect(track.columns.step).toEqual([5, 6]);
});

test("a reload asks for what was asked before, and once for what was not", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  history.want(LOSS, 1000);
  history.want("train/lr", 1000, true);
  history.start();
  history.reload();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.map(({ request }) => request.names)).toEqual([[LOSS]]);
  history.reload();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.map(({ request }) => request.names)).toEqual([[LOSS], [LOSS]]);
});

test("an answer from before a reload that comes after the newer one changes nothing", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  // Step 1 is recorded before the stream opens: no frame tells of it.
  history.reload();
  await vi.advanceTimersByTimeAsync(0);
  asked[1]?.answer(answer(asked[1].request, [0, 1]));
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.answer(answer(asked[0].request, [0]));
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([2]));
  expect(track.columns.step).toEqual([0, 1, 2]);
});

test("a reload while an axis is on its way asks for all of that axis again", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.answer(answer(asked[0].request, [0]));
  await vi.advanceTimersByTimeAsync(0);
  history.setView({ x: "samples", range: null });
  history.reload();
  await vi.advanceTimersByTimeAsync(0);
  asked[1]?.answer(answer(asked[1].request, [0]));
  await vi.advanceTimersByTimeAsync(0);
  expect(track.columns.x).toEqual([0]);
  asked[2]?.answer(answer(asked[2].request, [0, 1]));
  await vi.advanceTimersByTimeAsync(0);
  expect([track.columns.x, asked.length]).toEqual([[0, 10], 3]);
});

test("a part that a link opened is followed by the whole, once", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: { from: 2, to: 4 } }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.answer(answer(asked[0].request, [2, 3], { first: 2 }));
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([5]));
  expect(asked.map(({ request }) => request.from)).toEqual([2, undefined]);
  asked[1]?.answer(answer(asked[1].request, [0, 1, 2, 3, 4]));
  await vi.advanceTimersByTimeAsync(0);
  expect([track.columns.step, track.drawn.step]).toEqual([
    [2, 3],
    [0, 1, 2, 3, 4, 5],
  ]);
  history.setView({ x: "step", range: { from: 3, to: 5 } });
  await vi.advanceTimersByTimeAsync(0);
  asked[2]?.answer(answer(asked[2].request, [3, 4], { first: 3 }));
  await vi.advanceTimersByTimeAsync(0);
  expect([asked.length, track.drawn.step]).toEqual([3, [0, 1, 2, 3, 4, 5]]);
});

test("an attempt that trains again behind the shown part makes what was known of the whole old", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "step", range: null }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.answer(answer(asked[0].request, [0, 1, 2, 3, 4, 5]));
  await vi.advanceTimersByTimeAsync(0);
  history.setView({ x: "step", range: { from: 0, to: 2 } });
  await vi.advanceTimersByTimeAsync(0);
  asked[1]?.answer(answer(asked[1].request, [0, 1]));
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([4], { attempt: 2 }));
  expect(track.whole).toBeNull();
  await vi.advanceTimersByTimeAsync(1000);
  asked[2]?.answer(answer(asked[2].request, [0, 1]));
  await vi.advanceTimersByTimeAsync(0);
  asked[3]?.answer(answer(asked[3].request, [0, 1, 2, 3, 9]));
  await vi.advanceTimersByTimeAsync(0);
  expect(track.drawn.value).toEqual([0, 1, 2, 3, 9]);
});

test("without the steps before its reinforcement learning, in the picture, behind it and live", async () => {
  const { asked, fetch } = fakeServer();
  const history = new RunHistory("r", { x: "samples", range: null }, fetch);
  const track = history.want(LOSS, 1000);
  history.start();
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.answer(answer(asked[0].request, [9, 9, 1]));
  await vi.advanceTimersByTimeAsync(0);
  history.setView({ x: "samples", range: { from: 0, to: 30 }, firstStep: 2 });
  await vi.advanceTimersByTimeAsync(0);
  asked[1]?.answer(answer(asked[1].request, [9, 9, 1]));
  await vi.advanceTimersByTimeAsync(0);
  expect([track.columns.x, track.columns.value]).toEqual([[20], [1]]);
  asked[2]?.answer(answer(asked[2].request, [9, 9, 1, 2]));
  await vi.advanceTimersByTimeAsync(0);
  expect([track.drawn.step, track.drawn.value]).toEqual([
    [2, 3],
    [1, 2],
  ]);
  history.setView({ x: "samples", range: null, firstStep: Number.POSITIVE_INFINITY });
  await vi.advanceTimersByTimeAsync(0);
  asked[3]?.answer(answer(asked[3].request, [9, 9, 1, 2]));
  await vi.advanceTimersByTimeAsync(0);
  history.receive(frame([4]));
  expect(track.columns.x).toEqual([]);
});
