import { expect, test } from "vitest";
import { series } from "./factories";
import { MetricTrack } from "./metric-track";
import { PLAIN_AXIS, type PlotConfig, type PlotLine } from "./plot-config";
import { columnsOf, cutAtEdges, dataOf, wayOf } from "./plot-data";

function line(values: readonly number[], first = 0): PlotLine {
  const track = new MetricTrack("train/loss");
  track.setHistory([series(values, { first })]);
  return { track, kind: "line", side: "left", label: "loss" };
}

function plot(lines: PlotLine[], view: Partial<PlotConfig["view"]> = {}): PlotConfig {
  const plain = { log: false, bands: false, old: false, smoothing: 0, ...view };
  return { lines, left: PLAIN_AXIS, right: null, view: plain, labelsOld: false };
}

test("lines with steps of their own share one axis", () => {
  const config = plot([line([1, 2]), line([5, 6], 1)]);
  const { aligned, isEmpty } = dataOf(config, columnsOf(config), "step");
  expect(aligned).toEqual([
    [0, 1, 2],
    [1, 2, undefined],
    [undefined, 5, 6],
  ]);
  expect(isEmpty).toBe(false);
});

test("an average stands behind its raw line, and hides no point twice", () => {
  const config = plot([line([1, -1, 3])], { smoothing: 0.5, log: true });
  const columns = columnsOf(config);
  expect(columns.map(({ smoothed }) => smoothed)).toEqual([false, true]);
  expect(dataOf(config, columns, "step").hidden).toBe(1);
});

test("a plot without a point is empty", () => {
  const config = plot([line([])]);
  expect(dataOf(config, columnsOf(config), "step").isEmpty).toBe(true);
});

test("a pen's way counts what is in the range, on a logarithmic axis in decades", () => {
  const jagged = line([1, 100, 1, 0, 100, 1]);
  expect(wayOf(jagged, { from: 0, to: 2 }, false)).toBe(198);
  expect(wayOf(jagged, { from: 0, to: 5 }, true)).toBe(8);
  expect(wayOf(line([]), { from: 0, to: 5 }, false)).toBe(0);
});

test("a batch size holds to the end of the last step, on an axis that tells where that is", () => {
  const area = plot([{ ...line([16, 24]), kind: "area" }]);
  expect(dataOf(area, columnsOf(area), "step").aligned).toEqual([
    [0, 1, 2],
    [16, 24, 24],
  ]);
  expect(dataOf(area, columnsOf(area), "time").aligned).toEqual([
    [0, 1],
    [16, 24],
  ]);
});

test("beyond a point at the edge nothing is drawn, and beyond an edge between two points one is", () => {
  const aligned = [
    [0, 1, 2, 3],
    [9, 1, 1, 9],
  ] as [number[], number[]];
  expect(cutAtEdges(aligned, { from: 1, to: 2 })).toEqual([
    [1, 2],
    [1, 1],
  ]);
  expect(cutAtEdges(aligned, { from: 0.5, to: 2 })).toEqual([
    [0, 1, 2],
    [9, 1, 1],
  ]);
  expect(cutAtEdges(aligned, { from: 0, to: 2.5 })).toBe(aligned);
});
