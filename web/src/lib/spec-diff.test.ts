import { expect, test } from "vitest";
import { changesBetween, leavesOf, valueText } from "./spec-diff";

test("leaves have the path of their field", () => {
  const leaves = leavesOf({ batch: { type: "all" }, reward: [{ type: "math" }], sizes: [1, 2], tags: {} });
  expect([...leaves]).toEqual([
    ["batch.type", "all"],
    ["reward.0.type", "math"],
    ["sizes", [1, 2]],
    ["tags", {}],
  ]);
});

test("only what differs is told, what is gone last", () => {
  const was = { batch: { type: "all" }, seed: 17, schedule: { token_cap: 8192 } };
  const is = { batch: { type: "ramp", start: 8 }, schedule: { token_cap: 8192 } };
  expect(changesBetween(was, is)).toEqual([
    { path: "batch.type", was: "all", is: "ramp" },
    { path: "batch.start", was: undefined, is: 8 },
    { path: "seed", was: 17, is: undefined },
  ]);
});

test("an absent value, null and an empty map are the same", () => {
  expect(changesBetween({ a: null, b: [1] }, { b: [1] })).toEqual([]);
  expect(changesBetween({ tags: {} }, { tags: { task: "math" } })).toEqual([
    { path: "tags.task", was: undefined, is: "math" },
  ]);
});

test("a value is one line", () => {
  expect([valueText("x"), valueText([1, 2]), valueText(undefined), valueText(0)]).toEqual([
    "x",
    "[1,2]",
    "",
    "0",
  ]);
});
