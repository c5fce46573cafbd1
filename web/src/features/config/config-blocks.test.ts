import { expect, test } from "vitest";
import { configBlocks, numDifferent, onlyDifferent } from "./config-blocks";

const SPEC = { optimizer: { lr: 0.001, lr_schedule: { warmup: 10 } }, name: "a", batch: { type: "all" } };

test("fields stand in the block of their owner, those of the spec itself first", () => {
  const blocks = configBlocks(SPEC, undefined, "");
  expect(blocks.map(({ name, fields }) => [name, fields.map((field) => field.name)])).toEqual([
    ["", ["name"]],
    ["optimizer", ["lr", "lr_schedule.warmup"]],
    ["batch", ["type"]],
  ]);
});

test("what another run had stands beside, also where only it has it", () => {
  const blocks = configBlocks(SPEC, { ...SPEC, batch: { type: "fixed", global_batch_size: 8 } }, "");
  expect(blocks.find(({ name }) => name === "batch")?.fields).toEqual([
    { name: "type", is: "all", was: "fixed", differs: true },
    { name: "global_batch_size", is: "", was: "8", differs: true },
  ]);
  expect(numDifferent(blocks)).toBe(2);
  expect(onlyDifferent(blocks).map(({ name }) => name)).toEqual(["batch"]);
});

test("a query finds paths and values", () => {
  expect(configBlocks(SPEC, undefined, "optimizer warmup").flatMap(({ fields }) => fields)).toHaveLength(1);
  expect(configBlocks(SPEC, undefined, "all")[0]?.name).toBe("batch");
  expect(configBlocks(SPEC, undefined, "nothing")).toEqual([]);
});

test("of a config of nothing there is no block", () => {
  expect(configBlocks({}, undefined, "")).toEqual([]);
  expect(configBlocks(null, { lr: 1 }, "")).toEqual([
    { name: "", fields: [{ name: "lr", is: "", was: "1", differs: true }] },
  ]);
});
