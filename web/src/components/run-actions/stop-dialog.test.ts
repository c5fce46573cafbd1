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
  expect(questionOf({ ...RUN, state: "queued", attempt: 0 }).text).toBe(
    "It has not started. Nothing of it is recorded.",
  );
});

test("of a run that waits for another try the steps are recorded", () => {
  expect(questionOf({ ...RUN, state: "queued", attempt: 1 }).text).toBe(
    "Attempt 2 waits and has not started. 1,285\u00a0steps are recorded and kept.",
  );
  expect(questionOf({ ...RUN, state: "queued", attempt: 2, num_steps: 0 }).text).toContain(
    "No step is recorded",
  );
});

test("steps since the last checkpoint are told, as a retry trains them again", () => {
  expect(questionOf(RUN, 1280).text).toContain(
    "A retry goes on from the checkpoint before step 1,280 and trains 6\u00a0steps again.",
  );
  expect(questionOf({ ...RUN, state: "paused" }, 1285).text).toMatch(/before step 1,285\.$/);
  expect(questionOf({ ...RUN, state: "stopping" }, null).text).toContain("a retry begins at step 0");
  expect(questionOf({ ...RUN, kind: "external" }, 1280).text).not.toContain("retry");
});
