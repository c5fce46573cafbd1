import { expect, test } from "vitest";
import { stepSpans } from "./factories";
import { cardText, kindCard, spanCard } from "./span-facts";
import { spanAt, timelineOf } from "./timeline-model";

const TIMELINE = timelineOf([
  stepSpans(3, 0, 10, [
    ["rank 0", "forward_backward", 1, 2],
    ["rank 0", "forward_backward", 3, 5],
    ["rank 1", "forward_backward", 1, 9],
    ["rank 0", "optimizer", 9, 10],
  ]),
  stepSpans(4, 10, 10, [["rank 0", "forward_backward", 2, 4]]),
]);

function cardAt(lane: number, at: number): string {
  const span = spanAt(TIMELINE, lane, at);
  return span ? cardText(spanCard(TIMELINE, lane, span)) : "";
}

test("a box of a rank tells which micro-batch of the step it is", () => {
  expect(cardAt(0, 4)).toContain("Forward-backward; rank 0; Step 3; Micro-batch 1; Takes 2.0");
  expect(cardAt(0, 13)).toContain("Step 4; Micro-batch 0");
  expect(cardAt(0, 9.5)).not.toContain("Micro-batch");
});

test("a wait tells how long it is", () => {
  expect(cardAt(0, 7)).toContain("Waiting; rank 0; Step 3; Takes 4.0");
});

test("a folded kind tells how many are at what", () => {
  const card = kindCard(TIMELINE, "rank", [0, 1], 6);
  expect(cardText(card)).toBe("2 ranks; step 3, 6.0\u00a0s; Waiting 1; Forward-backward 1");
});
