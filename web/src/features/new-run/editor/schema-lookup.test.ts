import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { SpecSchema } from "@/api/spec-schema";
import { valueAt } from "./cursor-path";
import { keysAt, valuesAt } from "./schema-lookup";

const definitions = JSON.parse(readFileSync("openapi.json", "utf8")).components.schemas;
const SCHEMA: SpecSchema = { root: definitions.RunSpec, definitions };

function keys(text: string, path: string[]): string[] {
  return keysAt(SCHEMA, path, (at) => valueAt(text, at)).map((choice) => choice.text);
}

function values(text: string, path: string[], key: string): string[] {
  return valuesAt(SCHEMA, path, key, (at) => valueAt(text, at)).map((choice) => choice.text);
}

test("the blocks of the spec", () => {
  expect(keys("", [])).toEqual(expect.arrayContaining(["name", "batch", "schedule", "optimizer"]));
});

test("the fields of the policy that is written, and of no other", () => {
  const ramp = keys("batch: {type: ramp}", ["batch"]);
  expect(ramp).toEqual(expect.arrayContaining(["start", "end", "increment", "over_samples"]));
  expect(ramp).not.toContain("tokens_per_step");
});

test("before a type is written, every policy is offered", () => {
  expect(values("batch: {}", ["batch"], "type")).toEqual(
    expect.arrayContaining(["fixed", "all", "token_budget", "ramp", "explicit", "adaptive"]),
  );
  expect(values("batch: {type: ramp}", ["batch"], "type")).toContain("adaptive");
});

test("closed sets and truths", () => {
  expect(values("", ["schedule"], "balance")).toEqual(["cost", "tokens", "none"]);
  expect(values("batch: {type: ramp}", ["batch"], "remainder")).toEqual(["partial", "carry", "drop"]);
});

test("in lists", () => {
  expect(values("reward: [{}]", ["reward", "0"], "type").length).toBeGreaterThan(0);
});
