import { expect, test } from "vitest";
import { parseLogsSearch } from "./logs-search";

test("the least level and empty texts are not written", () => {
  expect(parseLogsSearch({ level: "debug", q: "", source: "" })).toEqual({});
});

test("a number that is looked for is a text, a line is a number", () => {
  expect(parseLogsSearch({ q: 17, line: 3, level: "error" })).toEqual({ q: "17", line: 3, level: "error" });
  expect(parseLogsSearch({ line: "3", level: "loud" })).toEqual({});
});
