import { expect, test } from "vitest";
import { MetricTrack } from "@/components/chart/metric-track";
import { columnAt, columnsIn, findOf, oddest, oddStep, spanOf, stripColumns } from "./strip-columns";

function track(): MetricTrack {
  const made = new MetricTrack("num_over_cap");
  made.setHistory([
    {
      attempt: 1,
      superseded: false,
      total: 6,
      sampled: true,
      x: [0, 2, 4],
      step: [0, 2, 4],
      last_step: [1, 3, 5],
      value: [0, 1.5, 0.5],
      min: [0, 1, 0],
      max: [0, 2, 1],
      non_finite: [],
    },
  ]);
  return made;
}

test("a column shows its largest value", () => {
  expect(stripColumns(track())).toEqual([
    { step: 0, lastStep: 1, most: 0, least: 0 },
    { step: 2, lastStep: 3, most: 2, least: 1 },
    { step: 4, lastStep: 5, most: 1, least: 0 },
  ]);
});

test("the oddest come first; none where there is nothing to find", () => {
  const columns = stripColumns(track());
  expect(oddest(columns, "most").map(({ step }) => step)).toEqual([2, 4]);
  expect(oddest(columns, "least").map(({ step }) => step)).toEqual([0, 4, 2]);
  expect(oddest([], "most")).toEqual([]);
});

test("a step is found in its column", () => {
  const columns = stripColumns(track());
  expect([columnAt(columns, 3)?.step, columnAt(columns, 99)?.step, columnAt([], 1)]).toEqual([2, 4, null]);
});

test("the step that a column was drawn for", () => {
  expect(oddStep([2, 3], [1, 2], "most")).toBe(3);
  expect(oddStep([2, 3], [1, 2], "least")).toBe(2);
  expect(oddStep([2, 3], [2, 2], "most")).toBe(2);
  expect(oddStep([], [], "most")).toBeNull();
});

test("odd steps are looked for in the phase of the reader, or where they say", () => {
  const column = (step: number, lastStep: number) => ({ step, lastStep, most: step, least: step });
  const columns = [column(0, 1), column(2, 3), column(4, 5)];
  expect([findOf(7, 0), findOf(7, null)]).toEqual([null, null]);
  expect([findOf(null, 3), findOf(4, 3), findOf(2, 3)]).toEqual(["rl", "rl", "warm"]);
  expect(spanOf("rl", 3)).toEqual({ name: "RL", first: 3, last: null });
  expect([spanOf("all", 3), spanOf(null, 3), spanOf("rl", null)]).toEqual([null, null, null]);
  expect(columnsIn(columns, spanOf("rl", 3)).map(({ step }) => step)).toEqual([4]);
  expect(columnsIn(columns, spanOf("warm", 3)).map(({ step }) => step)).toEqual([0]);
  expect(columnsIn(columns, spanOf("rl", 5)).map(({ step }) => step)).toEqual([4]);
  expect(columnsIn(columns, null)).toEqual(columns);
});
