import { expect, test } from "vitest";
import type { Run } from "@/api/types";
import { questionOf } from "./stop-dialog";

const RUN = { name: "qwen3-4b-math-all", state: "running", num_steps: 1285, last: { step_s: 50.2 } } as Run;

test("stopping tells which step is finished and how long that takes", () => {
  expect(questionOf(RUN)).toMatchObject({
    title: "Stop qwen3-4b-math-all?",
    text: "Step 1,285 is finished, about 50\u00a0s. All its records are kept.",
    mode: "graceful",
  });
  expect(questionOf({ ...RUN, last: null }).text).toBe("Step 1,285 is finished. All its records are kept.");
});

test("a run that is asked already can only be killed", () => {
  expect(questionOf({ ...RUN, state: "stopping" })).toMatchObject({ act: "Kill now", mode: "kill" });
});

test("a lost run finishes no step that anybody could promise", () => {
  expect(questionOf({ ...RUN, state: "lost" })).toMatchObject({ keep: "Wait for it", mode: "graceful" });
  expect(questionOf({ ...RUN, state: "lost" }).text).not.toContain("Step");
});

test("a queued run has no step to finish", () => {
  expect(questionOf({ ...RUN, state: "queued" }).text).not.toContain("Step");
});
