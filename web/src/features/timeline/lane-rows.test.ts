import { expect, test } from "vitest";
import { kindsFoldedAtFirst, laneOrder, rowAt, rowsIn, rowsOf } from "./lane-rows";
import type { Lane } from "./timeline-model";

function lanes(...kinds: [string, number][]): Lane[] {
  return kinds.flatMap(([kind, count]) =>
    Array.from({ length: count }, (_, i) => ({
      actor: `${kind} ${i}`,
      kind,
      start: [],
      end: [],
      activity: [],
      step: [],
    })),
  );
}

test("one actor of its kind needs no head; many are folded", () => {
  const all = lanes(["driver", 1], ["engine", 2], ["rank", 512]);
  const folded = kindsFoldedAtFirst(all);
  expect(folded).toEqual(["rank"]);
  const { rows, height } = rowsOf(all, folded);
  expect(rows.map(({ type }) => type)).toEqual(["lane", "kind", "lane", "lane", "kind"]);
  expect(height).toBeLessThan(300);
});

test("rows lie under each other and are found by height", () => {
  const { rows, height } = rowsOf(lanes(["rank", 512]), []);
  expect(rows).toHaveLength(513);
  expect(
    rows.every((row, i) => i === 0 || row.top === (rows[i - 1]?.top ?? 0) + (rows[i - 1]?.height ?? 0)),
  ).toBe(true);
  expect(rowAt(rows, height - 1)).toBe(rows.at(-1));
  expect(rowAt(rows, height)).toBeNull();
  expect(rowsIn(rows, 100, 200).length).toBeLessThan(20);
  expect(laneOrder(rows)).toHaveLength(512);
});
