import { expect, test } from "vitest";
import { byteLabels, clockLabels, countLabels, elapsedLabels, logLabels, valueLabels } from "./tick-labels";

const NBSP = "\u00a0";

test("all labels of an axis have the same decimals", () => {
  expect(valueLabels([0, 0.25, 0.5, 0.75, 1])).toEqual(["0.00", "0.25", "0.50", "0.75", "1.00"]);
  expect(valueLabels([0, 0.02, 0.04])).toEqual(["0.00", "0.02", "0.04"]);
  expect(valueLabels([-10, 0, 10])).toEqual(["−10", "0", "10"]);
});

test("fractions are written as percent", () => {
  expect(valueLabels([0, 0.1, 0.2, 0.3], true)).toEqual(["0%", "10%", "20%", "30%"]);
  expect(valueLabels([0, 0.025, 0.05], true)).toEqual(["0.0%", "2.5%", "5.0%"]);
});

test("large values take the unit that they need, very small ones an exponent", () => {
  expect(valueLabels([0, 10_000, 20_000])).toEqual(["0", "10k", "20k"]);
  expect(valueLabels([0, 500, 1000, 1500])).toEqual(["0", "500", "1k", "1.5k"]);
  expect(valueLabels([0, 250, 500, 750, 1000])).toEqual(["0", "250", "500", "750", "1k"]);
  expect(valueLabels([1_000_000, 1_000_050])).toEqual(["1M", "1.00005M"]);
  expect(valueLabels([-1500, 0, 1500])).toEqual(["−1.5k", "0", "1.5k"]);
  expect(valueLabels([0, 5e-7, 1e-6])).toEqual(["0", "5e−7", "1e−6"]);
  expect(valueLabels([0, 0.0005, 0.001])).toEqual(["0", "5e−4", "1e−3"]);
  expect(valueLabels([0, 0.005, 0.01])).toEqual(["0.000", "0.005", "0.010"]);
});

test("an axis of one tick has a label", () => {
  expect(valueLabels([5])).toEqual(["5"]);
  expect(valueLabels([0])).toEqual(["0"]);
});

test("labels of a logarithmic axis stand for themselves", () => {
  expect(logLabels([0.0001, 0.01, 1, 100, 10_000])).toEqual(["1e−4", "0.01", "1", "100", "10k"]);
  expect(logLabels([0.001, 0.01, 0.1, 1], true)).toEqual(["0.1%", "1%", "10%", "100%"]);
});

test("counts are written in full up to 99,999", () => {
  expect(countLabels([0, 500, 1000])).toEqual(["0", "500", "1,000"]);
  expect(countLabels([0, 100_000, 200_000])).toEqual(["0", "100k", "200k"]);
});

test("times are local; a day begins with its date", () => {
  const now = new Date("2026-03-01T12:00:00Z");
  const at = (text: string) => Date.parse(text) / 1000;
  const ticks = [at("2026-01-01T21:00:00Z"), at("2026-01-01T23:00:00Z"), at("2026-01-02T01:00:00Z")];
  expect(clockLabels(ticks, now)).toEqual(["22:00", "2 Jan", "02:00"]);
});

test("elapsed time has one unit along the axis", () => {
  expect(elapsedLabels([0, 1200, 2400, 3600])).toEqual(["0", `20${NBSP}min`, `40${NBSP}min`, `60${NBSP}min`]);
  expect(elapsedLabels([0, 7200])).toEqual(["0", `2${NBSP}h`]);
  expect(elapsedLabels([0, 15, 30])).toEqual(["0", `15${NBSP}s`, `30${NBSP}s`]);
});

test("sizes have binary units", () => {
  const GIB = 1024 ** 3;
  expect(byteLabels([0, GIB / 4, GIB / 2, GIB])).toEqual([
    "0",
    `256${NBSP}MiB`,
    `512${NBSP}MiB`,
    `1${NBSP}GiB`,
  ]);
  expect(byteLabels([0, 0.2 * GIB, 1.5 * GIB])).toEqual(["0", `0.2${NBSP}GiB`, `1.5${NBSP}GiB`]);
  expect(byteLabels([0, 1024, 2048])).toEqual(["0", `1${NBSP}KiB`, `2${NBSP}KiB`]);
});
