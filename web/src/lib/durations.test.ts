import { expect, test } from "vitest";
import { formatDuration, formatElapsed } from "./durations";

function plain(text: string): string {
  return text.replaceAll("\u00a0", " ");
}

test.each([
  [0, "0 ms"],
  [0.84, "840 ms"],
  [0.9996, "1.0 s"],
  [42.8, "42.8 s"],
  [59.96, "1 min"],
  [291, "4 min 51 s"],
  [120, "2 min"],
  [3599.7, "1 h"],
  [61_560, "17 h 6 min"],
  [86_399, "1 d"],
  [93_600, "1 d 2 h"],
])("%d s is %s", (seconds, text) => {
  expect(plain(formatDuration(seconds))).toBe(text);
});

test("a number and its unit never part", () => {
  expect(formatDuration(291)).toBe("4\u00a0min 51\u00a0s");
});

test("elapsed time has no decimals and is never negative", () => {
  expect(plain(formatElapsed(50.7))).toBe("50 s");
  expect(plain(formatElapsed(-3))).toBe("0 s");
  expect(plain(formatElapsed(250))).toBe("4 min 10 s");
});
