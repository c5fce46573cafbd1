import { expect, test } from "vitest";
import { hangOf } from "./hanging-indent";

test.each([
  ["model: {type: scratch}", 4],
  ["  tasks: [{name: spell_backward}]", 6],
  ["# a comment goes on under its own text", 2],
  ["", 4],
  [`${" ".repeat(40)}deep: 1`, 16],
])("%s goes on %i columns in", (line, columns) => {
  expect(hangOf(line)).toBe(columns);
});
