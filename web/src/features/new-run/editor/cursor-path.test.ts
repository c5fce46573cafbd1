import { expect, test } from "vitest";
import { cursorPath } from "./cursor-path";

/** The cursor is the bar. */
function at(text: string) {
  const found = cursorPath(text.replace("|", ""), text.indexOf("|"));
  return found && { path: found.path, key: found.key, word: found.word };
}

test("a key at the top", () => {
  expect(at("name: x\nbat|")).toEqual({ path: [], key: null, word: "bat" });
});

test("a key in a block map", () => {
  expect(at("name: x\nbatch:\n  type: ramp\n  st|")).toEqual({ path: ["batch"], key: null, word: "st" });
  expect(at("rollout:\n  engine:\n    re|")).toEqual({ path: ["rollout", "engine"], key: null, word: "re" });
});

test("a value behind its key", () => {
  expect(at("batch:\n  type: ra|")).toEqual({ path: ["batch"], key: "type", word: "ra" });
  expect(at("batch:\n  type: |")).toEqual({ path: ["batch"], key: "type", word: "" });
});

test("keys and values in flow maps", () => {
  expect(at("batch: {type: ra|")).toEqual({ path: ["batch"], key: "type", word: "ra" });
  expect(at("batch: {type: ramp, st|")).toEqual({ path: ["batch"], key: null, word: "st" });
  expect(at("rollout: {engine: {type: transformers, re|")).toEqual({
    path: ["rollout", "engine"],
    key: null,
    word: "re",
  });
  expect(at("rollout:\n  engine: {ty|")).toEqual({ path: ["rollout", "engine"], key: null, word: "ty" });
});

test("items of lists", () => {
  expect(at("reward: [{type: ma|")).toEqual({ path: ["reward", "0"], key: "type", word: "ma" });
  expect(at("reward:\n  - type: ma|")).toEqual({ path: ["reward", "0"], key: "type", word: "ma" });
  expect(at("reward:\n  - type: math\n    wei|")).toEqual({ path: ["reward", "0"], key: null, word: "wei" });
});

test("a map that is closed again holds nothing more", () => {
  expect(at("batch: {type: all}\nsche|")).toEqual({ path: [], key: null, word: "sche" });
});

test("nothing in comments and quoted texts", () => {
  expect(at("name: x # bat|")).toBeNull();
  expect(at('name: "bat|')).toBeNull();
});
