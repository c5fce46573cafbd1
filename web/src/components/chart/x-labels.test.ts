import { expect, test } from "vitest";
import { xInWords, xLabels } from "./x-labels";

const NOW = new Date("2026-11-12T13:00:00Z");

test("each axis is labelled in its own unit", () => {
  const texts = (kind: Parameters<typeof xLabels>[0], from: number, to: number) =>
    xLabels(kind, { from, to }, 4, NOW).map(({ text }) => text);
  expect(texts("step", 0, 1284)).toEqual(["0", "500", "1,000"]);
  expect(texts("samples", 0, 350_000)).toEqual(["0", "100k", "200k", "300k"]);
  expect(texts("relative", 0, 7000)).toEqual(["0", "30\u00a0min", "60\u00a0min", "90\u00a0min"]);
  expect(
    texts("time", Date.parse("2026-11-12T10:05:00Z") / 1000, Date.parse("2026-11-12T11:40:00Z") / 1000),
  ).toEqual(["11:30", "12:00", "12:30"]);
});

test("one x in words", () => {
  expect(xInWords("step", 1118, NOW)).toBe("step 1,118");
  expect(xInWords("samples", 12_034, NOW)).toBe("12,034\u00a0samples");
  expect(xInWords("relative", 7440, NOW)).toBe("2\u00a0h 4\u00a0min");
  expect(xInWords("time", Date.parse("2026-11-12T10:52:40Z") / 1000, NOW)).toBe("11:52:40");
});
