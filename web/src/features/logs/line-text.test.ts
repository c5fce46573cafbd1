import { expect, test } from "vitest";
import { foldText, isHit, partsOf, readable } from "./line-text";

test("a traceback is folded to its beginning and what was raised", () => {
  const text =
    'Traceback (most recent call last):\n  File "a.py", line 1\n    f()\nValueError: loss is NaN\n';
  expect(foldText(text)).toEqual({
    head: "Traceback (most recent call last):",
    numHidden: 2,
    tail: "ValueError: loss is NaN",
  });
  expect(foldText("one\ntwo\nthree")).toBeNull();
});

test("hits are apart, whatever their case, and the parts add up to the text", () => {
  const parts = partsOf("NaN and nan", "nan");
  expect(parts.map(({ isHit: hit }) => hit)).toEqual([true, false, true]);
  expect(parts.map(({ text }) => text).join("")).toBe("NaN and nan");
  expect(partsOf("aaa", "aa").map(({ text }) => text)).toEqual(["aa", "a"]);
});

test("nothing is marked where lower case has another length, or nothing is looked for", () => {
  expect(partsOf("İx", "x")).toEqual([{ text: "İx", isHit: false }]);
  expect(partsOf("x", "")).toEqual([{ text: "x", isHit: false }]);
  expect([isHit("abc", ""), isHit("ABC", "b")]).toEqual([false, true]);
});

test("codes of terminals are no text, and a progress bar is read line by line", () => {
  expect(readable("\u001b[31merror\u001b[0m: 1\u001b]0;title\u0007")).toBe("error: 1");
  expect(readable("10%\r20%\r\n")).toBe("10%\n20%");
});
