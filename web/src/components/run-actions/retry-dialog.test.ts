import { expect, test } from "vitest";
import type { RunSummary } from "@/api/types";
import { retryLabel, retryText } from "./retry-dialog";

const RUN = { attempt: 1, num_steps: 318 } as RunSummary;

test("a retry tells from which step it goes on, and what is trained again", () => {
  expect(retryLabel(315)).toBe("Retry from 315");
  expect(retryText(RUN, 315)).toBe(
    "Attempt 2 goes on from the checkpoint before step 315; 3\u00a0steps after it are trained again.",
  );
  expect(retryText({ ...RUN, num_steps: 315 }, 315)).toMatch(/before step 315\.$/);
});

test("without a checkpoint it begins anew", () => {
  expect(retryLabel(null)).toBe("Retry from 0");
  expect(retryText(RUN, null)).toContain("begins at step 0");
});
