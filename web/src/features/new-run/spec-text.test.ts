import { expect, test } from "vitest";
import { problemsInText, readSpec } from "./spec-text";

const TEXT = `name: demo
batch:
  type: fixed
  global_batch_size: 7
reward:
  - {type: reasoning_gym, weight: -1}
`;

test("YAML becomes what is sent", () => {
  expect(readSpec(TEXT).spec).toEqual({
    name: "demo",
    batch: { type: "fixed", global_batch_size: 7 },
    reward: [{ type: "reasoning_gym", weight: -1 }],
  });
});

test("a refused field is found in the text", () => {
  const found = problemsInText(readSpec(TEXT), [
    { pointer: "/batch/global_batch_size", detail: "dp 2 does not divide 7" },
    { pointer: "/reward/0/weight", detail: "must be positive" },
    { pointer: "/batch/remainder", detail: "is missing" },
    { pointer: "/model", detail: "is missing" },
    { pointer: "", detail: "must be an object" },
  ]);
  expect(found.map(({ line, field }) => [line, field])).toEqual([
    [4, "batch.global_batch_size"],
    [6, "reward.0.weight"],
    [3, "batch.remainder"],
    [null, "model"],
    [null, ""],
  ]);
});

test("what is no YAML says where", () => {
  const { spec, problems } = readSpec("name: demo\nbatch: {type: fixed\n");
  expect(spec).toBeUndefined();
  expect(problems[0]?.line).toBe(3);
});
