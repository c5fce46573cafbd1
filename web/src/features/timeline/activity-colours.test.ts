import { expect, test } from "vitest";
import { inkOn, mixed } from "./activity-colours";

test("colours mix by share", () => {
  expect(mixed("#ff0000", "#0000ff", 0.5)).toBe("#800080");
  expect(mixed("#000", "#fff", 0.5)).toBe("#808080");
  expect(mixed("#102030", "#ffffff", 1)).toBe("#102030");
});

test("the ink is the one that can be read", () => {
  expect(inkOn("#0B6E99")).toBe("#ffffff");
  expect(inkOn("#EACB4C")).toBe("#0a1118");
});
