import { expect, test } from "vitest";
import type { IterationBooks } from "@/api/types";
import {
  booksText,
  fateText,
  isLeftOut,
  lengthsText,
  recordedText,
  rewardBars,
  rewardScale,
  shortId,
} from "./group-facts";

test("bars are best first on one scale, also with rewards below 0", () => {
  const scale = rewardScale([-1, null, 0.5]);
  expect(scale).toEqual({ low: -1, high: 1 });
  expect(rewardBars([-1, 1, 0, null], scale)).toEqual([
    { height: 1, isLow: false },
    { height: 0.5, isLow: false },
    { height: 0, isLow: true },
  ]);
});

test("many rollouts share bars", () => {
  const bars = rewardBars(
    Array.from({ length: 64 }, (_, i) => i / 63),
    { low: 0, high: 1 },
  );
  expect(bars).toHaveLength(16);
  expect(bars[0]?.height).toBeGreaterThan(bars[15]?.height ?? 1);
});

const TRAINED = { fate: "trained", reason: null, later: null } as const;
const FILTERED = { fate: "filtered", reason: "zero_variance", later: null } as const;

test("a fate is told in words, several with their counts", () => {
  expect(fateText([FILTERED, FILTERED])).toBe("filtered: zero variance");
  expect(fateText([TRAINED, FILTERED])).toBe("1 trained, 1 filtered: zero variance");
  expect(lengthsText([{ num_tokens: 1533 }, { num_tokens: 36_912 }])).toBe("1,533 to 36,912 tokens");
});

test("what a later iteration made of a rollout counts", () => {
  const later = { iteration: 4, fate: "dropped", reason: "stale", step: null, age: 2 } as const;
  const carried = { fate: "carried", reason: null, later: null } as const;
  expect(fateText([{ ...carried, later }])).toBe("dropped: stale");
  expect([isLeftOut([FILTERED, carried]), isLeftOut([FILTERED, { ...carried, later }])]).toEqual([
    false,
    true,
  ]);
});

test("books are told as a sum, without what does not occur", () => {
  const books = {
    num_carried_in: 0,
    num_generated: 512,
    num_trained: 136,
    filtered: { zero_variance: 370, truncated: 6 },
    dropped: {},
    num_carried_out: 0,
  } as unknown as IterationBooks;
  expect(booksText(books)).toBe("512 generated = 136 trained + 376 filtered");
  expect(booksText({ ...books, num_carried_in: 4, num_carried_out: 4 })).toBe(
    "4 carried in + 512 generated = 136 trained + 376 filtered + 4 carried on",
  );
});

test("a group is called by the end of its id", () => {
  expect(["spell_backward-17", "g3.0", "9", "<b>"].map(shortId)).toEqual(["17", "0", "9", "<b>"]);
});

test("how many groups are recorded is told where some are not", () => {
  expect(recordedText({ num_groups: 128, num_recorded_groups: 32 })).toBe("32 of 128 groups recorded");
  expect(recordedText({ num_groups: 4, num_recorded_groups: 4 })).toBe("");
});
