import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ChartGroup } from "./chart-group";

let frames: (() => void)[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (callback: () => void) => frames.push(callback));
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function nextFrame(): void {
  for (const frame of frames.splice(0)) frame();
}

function member(isReady = true) {
  return { isReady, redraw: vi.fn() };
}

test("many changes make one redraw per frame", () => {
  const group = new ChartGroup();
  const chart = member();
  group.add(chart);
  group.invalidate(chart);
  group.invalidateAll();
  nextFrame();
  expect(chart.redraw).toHaveBeenCalledTimes(1);
});

test("a chart off the screen is drawn when it comes near", () => {
  const group = new ChartGroup();
  const chart = member(false);
  group.add(chart);
  nextFrame();
  expect(chart.redraw).not.toHaveBeenCalled();
  chart.isReady = true;
  group.invalidate(chart);
  nextFrame();
  expect(chart.redraw).toHaveBeenCalledTimes(1);
});

test("of points that come in a row the first is drawn at once, the others together", () => {
  const group = new ChartGroup();
  const chart = member();
  for (let answer = 0; answer < 5; answer++) {
    group.announce(chart);
    nextFrame();
  }
  expect(chart.redraw).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(120);
  nextFrame();
  expect(chart.redraw).toHaveBeenCalledTimes(2);
});

test("a range follows the hand at once, and is told once it rests", () => {
  const group = new ChartGroup();
  const heard = vi.fn();
  group.setDomain({ from: 0, to: 100 });
  group.glide({ from: 10, to: 20 }, heard);
  group.glide({ from: 11, to: 21 }, heard);
  expect(group.range()).toEqual({ from: 11, to: 21 });
  expect([group.isMoving, heard.mock.calls]).toEqual([true, []]);
  vi.advanceTimersByTime(200);
  expect([group.isMoving, heard.mock.calls]).toEqual([false, [[{ from: 11, to: 21 }]]]);
});

test("what is chosen meanwhile, another axis, or leaving the page ends a movement, and nobody is told", () => {
  const all: ((group: ChartGroup) => void)[] = [
    (group) => group.setZoom(null),
    (group) => group.setXKind("tokens"),
    (group) => group.expectXKind("tokens"),
    (group) => group.start()(),
  ];
  for (const end of all) {
    const group = new ChartGroup();
    const heard = vi.fn();
    group.glide({ from: 10, to: 20 }, heard);
    end(group);
    vi.advanceTimersByTime(1000);
    expect([group.isMoving, heard.mock.calls]).toEqual([false, []]);
  }
});

test("while an axis is on its way, and after the page is gone, no hand moves the range", () => {
  const group = new ChartGroup();
  group.expectXKind("tokens");
  group.glide({ from: 10, to: 20 }, vi.fn());
  expect([group.isZoomed, group.settledXKind]).toEqual([false, null]);
  group.setXKind("tokens");
  expect(group.settledXKind).toBe("tokens");
  group.glide({ from: 10, to: 20 }, vi.fn());
  expect(group.isZoomed).toBe(true);
  const stop = group.start();
  stop();
  group.glide({ from: 30, to: 40 }, vi.fn());
  expect(group.range().from).toBe(10);
});

test("while more points may come one percent stays free at the right", () => {
  const group = new ChartGroup();
  group.setDomain({ from: 0, to: 99 });
  expect(group.range()).toEqual({ from: 0, to: 99 });
  group.setLive(true);
  expect(group.range().to).toBeCloseTo(100);
  group.setZoom({ from: 10, to: 20 });
  expect(group.range()).toEqual({ from: 10, to: 20 });
});

test("a range without an end goes on to the newest point", () => {
  const group = new ChartGroup();
  group.setZoom({ from: 10, to: Number.POSITIVE_INFINITY });
  expect(group.range()).toEqual({ from: 10, to: 11 });
  group.setDomain({ from: 0, to: 50 });
  expect([group.range(), group.isZoomed]).toEqual([{ from: 10, to: 50 }, true]);
  group.setDomain({ from: 0, to: 60 });
  expect(group.range().to).toBe(60);
});

test("a run of one step has an axis", () => {
  const group = new ChartGroup();
  group.setDomain({ from: 5, to: 5 });
  expect(group.range()).toEqual({ from: 5, to: 6 });
});

test("another axis forgets the domain and the cursor of the old one", () => {
  const group = new ChartGroup();
  const heard = vi.fn();
  group.onCursor(heard);
  group.setDomain({ from: 0, to: 99 });
  group.setCursor(7);
  group.setXKind("time");
  expect(group.domain).toBeNull();
  expect(heard.mock.calls).toEqual([[7], [null]]);
});
