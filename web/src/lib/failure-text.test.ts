import { expect, test } from "vitest";
import { failureText } from "./failure-text";

test("a traceback is told apart from what happened", () => {
  const traceback = "Traceback (most recent call last):\n  File ...\nValueError: no wood";
  expect(failureText(`no wood\n\n${traceback}`)).toEqual({
    said: "no wood",
    output: { title: "Traceback", text: traceback, isTraceback: true },
  });
});

test("a traceback is called one only where there is one", () => {
  expect(failureText("The driver was killed.\n\nstep 7\nstep 8")).toEqual({
    said: "The driver was killed.",
    output: { title: "Last lines of the driver’s output", text: "step 7\nstep 8", isTraceback: false },
  });
});

test("a sentence alone has no output", () => {
  expect(failureText("starting → running")).toEqual({ said: "starting → running", output: null });
  expect(failureText("")).toEqual({ said: "", output: null });
});
