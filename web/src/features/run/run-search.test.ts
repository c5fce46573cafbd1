import { expect, test } from "vitest";
import { parseRunSearch } from "./run-search";

test("what is as by default stays out of the address", () => {
  expect(
    parseRunSearch({ x: "step", log: false, bands: true, old: true, smooth: 0, find: "", toggled: [] }),
  ).toEqual({});
});

test("what was chosen is kept", () => {
  const chosen = {
    x: "tokens",
    log: true,
    bands: false,
    old: false,
    smooth: 0.9,
    from: 10,
    to: 20,
    find: "kl",
    toggled: ["perf"],
  };
  expect(parseRunSearch(chosen)).toEqual(chosen);
});

test("bad values fall away", () => {
  expect(
    parseRunSearch({
      x: "epochs",
      log: "yes",
      smooth: Number.NaN,
      from: 20,
      to: 10,
      find: 3,
      toggled: [1, "train"],
    }),
  ).toEqual({ toggled: ["train"] });
  expect(parseRunSearch({ to: 5 })).toEqual({});
  expect(parseRunSearch({ from: 5, to: "far" })).toEqual({});
  expect(parseRunSearch({ smooth: 7 })).toEqual({ smooth: 0.99 });
});

test("a range may go on to the newest step", () => {
  expect(parseRunSearch({ from: 5 })).toEqual({ from: 5 });
});
