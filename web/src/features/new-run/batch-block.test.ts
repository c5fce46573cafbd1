import { expect, test } from "vitest";
import { parse } from "yaml";
import { BATCH_TYPES, batchTypeOf, withBatchType } from "./batch-block";

const TEXT = `# why
name: x
data: {rollout_batch_size: 32, max_prompt_tokens: 32}
rollout: {group_size: 8, max_new_tokens: 96}
batch: {type: all}
seed: 7
`;

test.each(BATCH_TYPES)("%s takes the place of the block, the rest stays as it was written", (type) => {
  const text = withBatchType(TEXT, type);
  expect(batchTypeOf(text)).toBe(type);
  expect(text.split("\n").filter((line) => !line.startsWith("batch"))[0]).toBe("# why");
  expect(parse(text)).toMatchObject({ name: "x", data: { rollout_batch_size: 32 }, seed: 7 });
});

test("sizes fit what an iteration generates", () => {
  expect(parse(withBatchType(TEXT, "fixed")).batch).toEqual({ type: "fixed", global_batch_size: 64 });
  expect(parse(withBatchType(TEXT, "token_budget")).batch.tokens_per_step).toBe(4096);
  const { start, end, increment } = parse(withBatchType(TEXT, "ramp")).batch;
  expect((end - start) % increment).toBe(0);
});

test("a spec without the block gets one, and a text that is no YAML stays", () => {
  expect(batchTypeOf(withBatchType("name: x\n", "all"))).toBe("all");
  expect(withBatchType("name: [", "all")).toBe("name: [");
  expect(batchTypeOf("name: [")).toBeNull();
});
