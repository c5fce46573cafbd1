import { expect, test } from "vitest";
import { schedule } from "./factories";
import { gridGeometry } from "./grid-geometry";
import { relatedTo } from "./related";

test("siblings of a rollout and the rest of its group are told apart, by rank", () => {
  const one = schedule([[[10, 20]], [[30], [40]]]);
  const samples = { ...one.samples, rollout_id: ["a", "b", "a", "c"], group_id: ["g", "g", "g", "h"] };
  const told = { ...one, samples };
  const related = relatedTo(told, gridGeometry(told, "measured"), 0);
  expect([...related]).toEqual([
    [
      0,
      [
        { sample: 0, isSibling: true },
        { sample: 1, isSibling: false },
      ],
    ],
    [1, [{ sample: 2, isSibling: true }]],
  ]);
  expect(relatedTo(told, gridGeometry(told, "measured"), null).size).toBe(0);
});
