import { expect, test } from "vitest";
import { outputOf } from "./failure-output";

test("a traceback is called one only where there is one", () => {
  const traceback = "Traceback (most recent call last):\n  File ...\nValueError: no wood";
  expect(outputOf(`no wood\n\n${traceback}`)).toEqual({ title: "Traceback", text: traceback });
  expect(outputOf("The driver was killed.\n\nstep 7\nstep 8")).toEqual({
    title: "Last lines of the driver’s output",
    text: "step 7\nstep 8",
  });
});

test("a sentence alone has no output", () => {
  expect(outputOf("The driver was killed.")).toBeNull();
  expect(outputOf("")).toBeNull();
});
