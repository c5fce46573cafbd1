import { expect, test } from "vitest";
import { arrange, findMetrics, movePin, prefixOf, togglePin } from "./metric-groups";

const NAMES = [
  "global_batch_size",
  "num_prompts",
  "measured_idle_frac",
  "perf/train_tokens_per_s",
  "train/loss",
  "train/kl",
  "train/lr",
  "reward/mean",
  "custom/x",
];

test("each metric stands in one place: hero, pinned or its group", () => {
  const { pinned, groups } = arrange(NAMES);
  expect(pinned).toEqual(["reward/mean", "measured_idle_frac", "train/lr"]);
  expect(groups.map(({ name, metrics }) => [name, metrics])).toEqual([
    ["train", ["train/kl"]],
    ["custom", ["custom/x"]],
    ["perf", ["perf/train_tokens_per_s"]],
    ["step", ["num_prompts"]],
  ]);
});

test("groups that tell how the run goes are open", () => {
  expect(arrange(NAMES).groups.map(({ opensByDefault }) => opensByDefault)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test("a name without a prefix belongs to the step", () => {
  expect([prefixOf("train/loss"), prefixOf("lr"), prefixOf("/odd")]).toEqual(["train", "step", "step"]);
});

test("every word must be in the name", () => {
  expect(findMetrics(NAMES, "TRAIN  l")).toEqual(["train/loss", "train/kl", "train/lr"]);
  expect(findMetrics(NAMES, "kl train")).toEqual(["train/kl"]);
  expect(findMetrics(NAMES, "")).toEqual(NAMES);
});

test("what is pinned stands first, in the order of the pins, and in no group", () => {
  const names = ["reward/mean", "train/kl", "train/entropy"];
  const { pinned, groups } = arrange(names, ["train/kl", "gone", "reward/mean"]);
  expect(pinned).toEqual(["train/kl", "reward/mean"]);
  expect(groups.flatMap(({ metrics }) => metrics)).toEqual(["train/entropy"]);
});

test("pins are set, taken away and moved past pins that this run does not have", () => {
  expect(togglePin(["a"], "b")).toEqual(["a", "b"]);
  expect(togglePin(["a", "b"], "a")).toEqual(["b"]);
  expect(movePin(["a", "gone", "b"], ["a", "b"], "a", 1)).toEqual(["b", "gone", "a"]);
  expect(movePin(["a", "b"], ["a", "b"], "b", 1)).toEqual(["a", "b"]);
});
