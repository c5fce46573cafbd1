import { expect, test } from "vitest";
import { schedule, stepRow } from "./factories";
import { booksSentence, findingOf, idleSentence, lastRankSentence } from "./step-sentences";

test("a sample above the mean load sets the length of its step", () => {
  const long = schedule([[[20], [20]], [[450]], [[20], [20]]]);
  expect(findingOf(long, stepRow({ measured_idle_frac: 0.6, num_over_cap: 1 }))).toEqual({
    head: "Sample 2 alone sets the length of this step.",
    detail:
      "It has 450 tokens, 4.5 × the cap, and runs alone on rank 1; the others end 410\u00a0ms or more sooner. " +
      "Lower rollout.max_new_tokens.",
    sample: 2,
  });
});

test("with company on its rank it is not said to be alone there", () => {
  const finding = findingOf(schedule([[[90], [1]], [[20]]]), stepRow());
  expect(finding?.detail).toContain("and runs on rank 0;");
  expect(finding?.detail).not.toContain("cap");
});

test("one rank has nobody to wait for", () => {
  expect(findingOf(schedule([[[90], [10]]]), stepRow())).toBeNull();
});

test("over cap comes next", () => {
  const over = schedule([
    [[120], [100]],
    [[110], [105]],
  ]);
  expect(findingOf(over, stepRow({ measured_idle_frac: 0.5 }))?.head).toBe(
    "3\u00a0micro-batches over the cap of 100 tokens.",
  );
});

const EVEN = schedule([[[50, 40]], [[45, 45]]]);

test("equal work that took unequal time is not laid to the schedule, nor to a sample", () => {
  const measured_s = [[0.763], [0.078]];
  const idle = stepRow({ measured_idle_frac: 0.449 });
  const same = findingOf(schedule([[[770]], [[770]]], { token_cap: null, measured_s }), idle);
  expect(same?.head).toBe(
    "Not the schedule: rank 0 took 763\u00a0ms and rank 1 took 78\u00a0ms for the same work (770 and 770 tokens).",
  );
  expect(same?.detail).toBe(
    "No sample is the cause: the machine may have been busy (System tells its load), " +
      "or the first step of a shape warmed up. " +
      "The ranks wait 44.9% of this step, 44.9 points above its bound; the plan waits 0.0%.",
  );
  const near = findingOf(schedule([[[771]], [[769]]], { token_cap: null, measured_s }), idle);
  expect(near?.head).toContain("for nearly the same work (771 and 769 tokens)");
});

test("the slowest rank is set beside the fastest that had its work, not beside one that had less", () => {
  const three = schedule([[[90]], [[88]], [[30]]], { measured_s: [[0.2], [0.1], [0.03]] });
  expect(findingOf(three, stepRow({ measured_idle_frac: 0.45, predicted_idle_frac: 0.01 }))?.head).toContain(
    "rank 0 took 200\u00a0ms and rank 1 took 100\u00a0ms",
  );
});

test("where the plan itself waits, or times follow the work, the schedule is not acquitted", () => {
  const uneven = { ...EVEN, measured_s: [[0.05], [0.1]] };
  const planned = stepRow({ measured_idle_frac: 0.4, predicted_idle_frac: 0.2 });
  expect(findingOf(uneven, planned)?.head).not.toContain("Not the schedule");
  expect(findingOf(uneven, stepRow({ measured_idle_frac: 0.01 }))).toBeNull();
});

test("idle time above its bound tells the ranks on both sides of the plan, or the plan", () => {
  const slow = { ...EVEN, measured_s: [[0.1], [0.12]] };
  const finding = findingOf(slow, stepRow({ measured_idle_frac: 0.083 }));
  expect(finding?.head).toBe(
    "No single sample is the cause: rank 1 took 120\u00a0ms where 110\u00a0ms were predicted, and rank 0 took 100\u00a0ms where 110\u00a0ms were.",
  );
  expect(finding?.detail).toMatch(
    /^Predictions are scaled to .* The ranks wait 8.3% of this step, 8.3 points above its bound; the plan waits/,
  );
  const planned = findingOf(EVEN, stepRow({ measured_idle_frac: 0.2, predicted_idle_frac: 0.19 }));
  expect(planned?.detail).toContain("The plan itself waits 19.0%");
  expect(findingOf(EVEN, stepRow({ measured_idle_frac: 0.05 }))).toBeNull();
});

test("sentences subtract what is shown of the figures", () => {
  const step = stepRow({ measured_idle_frac: 0.2504, predicted_idle_frac: 0.0496, idle_bound_frac: 0.0496 });
  expect(findingOf(EVEN, step)?.head).toContain("25.0% of this step, 20.0 points above");
  expect(idleSentence(step, "dp 2")).toContain("20.0 points more than was planned");
});

test("many dummies, then much padding", () => {
  const withDummies = findingOf(EVEN, stepRow({ num_microbatches: 3, num_dummies: 1 }));
  expect(withDummies?.head).toBe("1 of 6 slots hold dummies.");
  expect(withDummies?.detail).toContain("skipped");
  const running = findingOf(
    { ...EVEN, skips_dummies: false },
    stepRow({ num_microbatches: 3, num_dummies: 1 }),
  );
  expect(running?.detail).toContain("take time");
  expect(findingOf(EVEN, stepRow({ padding_frac: 0.2 }))?.head).toBe(
    "20.0% of the computed positions hold no token.",
  );
});

test("idle time in one sentence", () => {
  expect(
    idleSentence(
      stepRow({ measured_idle_frac: 0.26, predicted_idle_frac: 0.256, idle_bound_frac: 0.256 }),
      "dp 8",
    ),
  ).toBe("The plan is at its bound: under dp 8 no other schedule of these samples ends sooner.");
  expect(idleSentence(stepRow({ measured_idle_frac: 0.2 }), "dp 2")).toContain(
    "20.0 points more than was planned",
  );
  expect(
    idleSentence(
      stepRow({ measured_idle_frac: 0.1, predicted_idle_frac: 0.08, idle_bound_frac: 0.02 }),
      "dp 2",
    ),
  ).toContain("6.0 points above its bound");
});

test("the books of an iteration", () => {
  expect(booksSentence(stepRow())).toBe("512 generated = 136 trained + 376 filtered (zero variance)");
  expect(booksSentence(stepRow({ num_filtered: 368, num_dropped: 8 }))).toBe(
    "512 generated = 136 trained + 368 filtered (zero variance) + 8 dropped",
  );
  expect(booksSentence(stepRow({ num_rollouts: 64, num_filtered: 0 }))).toBe(
    "512 generated = 512 trained, over the steps of iteration 7",
  );
  expect(booksSentence(stepRow({ num_generated: 0, num_filtered: 0 }))).toContain("its first step tells");
  expect(booksSentence(stepRow({ phase: "warm_start", num_generated: 0 }))).toContain(
    "nothing was generated",
  );
});

test("the books tell what was carried in and out", () => {
  const step = stepRow({
    num_carried_in: 16,
    num_generated: 173,
    num_filtered: 20,
    num_dropped: 4,
    num_carried_out: 32,
    num_rollouts: 133,
  });
  expect(booksSentence(step)).toBe(
    "16 carried in + 173 generated = 133 trained + 20 filtered (zero variance) + 4 dropped + 32 carried to the next iteration",
  );
});

test("that a step was skipped comes before all that it computed", () => {
  const idle = { measured_idle_frac: 0.6, idle_bound_frac: 0, predicted_idle_frac: 0 };
  expect(findingOf(EVEN, stepRow({ ...idle, status: "skipped:non_finite" }))?.head).toBe(
    "This step was skipped: its loss or gradient was not finite.",
  );
  expect(findingOf(EVEN, stepRow({ ...idle, status: "skipped:no_signal" }))?.head).toBe(
    "This step was skipped: none of its samples has a loss token.",
  );
});

test("who the ranks wait for is named, with the most of its work", () => {
  const uneven = schedule([[[30, 60]], [[50]]]);
  expect(lastRankSentence(uneven)).toEqual({
    text: "Rank 0 ends last, 40\u00a0ms after the next. Sample 1 is 66.7% of its work, with 60 tokens.",
    sample: 1,
  });
  expect(lastRankSentence(schedule([[[50]], [[50]]]))).toBeNull();
  expect(lastRankSentence(schedule([[[50]]]))).toBeNull();
});

test("no sample is named where the ranks had the same work, or where none is much of it", () => {
  const busy = schedule([[[770]], [[770]]], { token_cap: null, measured_s: [[0.763], [0.078]] });
  expect(lastRankSentence(busy)).toEqual({
    text: "Rank 0 ends last, 685\u00a0ms after the next.",
    sample: undefined,
  });
  const many = schedule([[Array.from({ length: 153 }, () => 10)], [[900]]], { token_cap: null });
  expect(lastRankSentence(many)?.sample).toBeUndefined();
});
