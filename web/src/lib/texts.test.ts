import { expect, test } from "vitest";
import { capitalised, cutText, firstLine } from "./texts";

test("short texts stay whole", () => {
  expect(cutText("<img src=x onerror=alert(1)>")).toEqual({
    shown: "<img src=x onerror=alert(1)>",
    isCut: false,
  });
});

test("long texts are cut, never inside a character", () => {
  expect(cutText("x".repeat(10_001)).shown).toHaveLength(10_000);
  expect(cutText("ab🔥cd", 3)).toEqual({ shown: "ab", isCut: true });
  expect(cutText("ab🔥cd", 4)).toEqual({ shown: "ab🔥", isCut: true });
});

test("the first line comes without the traceback", () => {
  expect(firstLine("loss is NaN on rank 2\n\nTraceback …")).toBe("loss is NaN on rank 2");
  expect(firstLine("")).toBe("");
});

test("a clause begins a sentence", () => {
  expect(capitalised("finished; 2 left")).toBe("Finished; 2 left");
  expect(capitalised("")).toBe("");
});
