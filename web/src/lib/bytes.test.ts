import { expect, test } from "vitest";
import { byteUnit, formatBytes } from "./bytes";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1,000 B"],
  [1536, "1.50 KiB"],
  [1024 ** 2 * 12.34, "12.3 MiB"],
  [1024 ** 3 * 139, "139 GiB"],
  [1024 ** 3 * 999.6, "0.976 TiB"],
  [1024 ** 5 * 3, "3,072 TiB"],
])("%d bytes", (bytes, text) => {
  expect(formatBytes(bytes).replaceAll("\u00a0", " ")).toBe(text);
});

test("an axis of sizes has the unit of its largest", () => {
  expect([0, 1023, 1024, 1024 ** 3 * 1.5, 1024 ** 6].map((most) => byteUnit(most).name)).toEqual([
    "B",
    "B",
    "KiB",
    "GiB",
    "TiB",
  ]);
  expect(byteUnit(1024 ** 3).size).toBe(1024 ** 3);
});
