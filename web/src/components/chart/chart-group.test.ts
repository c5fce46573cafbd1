import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ChartGroup } from "./chart-group";

let frames: (() => void)[] = [];

beforeEach(() => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (callback: () => void) => frames.push(callback));
});
afterEach(() => {
  vi.unstubAllGlobals();
});

function nextFrame(): void {
  for (const frame of frames.splice(0)) frame();
}

function member(isVisible = true) {
  return { isVisible, redraw: vi.fn() };
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
  chart.isVisible = true;
  group.invalidate(chart);
  nextFrame();
  expect(chart.redraw).toHaveBeenCalledTimes(1);
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
