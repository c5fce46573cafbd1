import { expect, test } from "vitest";
import { extremes, fractionText, sumOverCommon, sumText } from "./fractions";

test("weights are added over their common denominator", () => {
  expect(fractionText(sumOverCommon(Array.from({ length: 136 }, () => "1/136")))).toBe("136/136");
  expect(fractionText(sumOverCommon(["1/2", "1/3", "1/6"]))).toBe("6/6");
  expect(fractionText(sumOverCommon(["1/2", "1/3"]))).toBe("5/6");
  expect(fractionText(sumOverCommon(["1", "0"]))).toBe("1/1");
  expect(fractionText(sumOverCommon([]))).toBe("0/1");
});

test("denominators beyond every float stay exact", () => {
  const primes = [101n, 103n, 107n, 109n, 113n, 127n, 131n, 137n];
  const parts = primes.map((prime) => `1/${prime * 8n}`);
  const rest = primes.map((prime) => `${prime - 1n}/${prime * 8n}`);
  expect(fractionText(sumOverCommon([...parts, ...rest]))).toBe("1 (over a denominator of 18 digits)");
  expect(fractionText(sumOverCommon(parts))).toBe("a fraction of 18 digits");
});

test("the least and the greatest are found by value", () => {
  expect(extremes(["1/3", "1/10", "2/5", "1/10"])).toEqual({ least: "1/10", greatest: "2/5" });
  expect(extremes(["1/136", "1/136"])).toEqual({ least: "1/136", greatest: "1/136" });
  const close = ["100000000000000000001/300000000000000000000", "1/3"];
  expect(extremes(close)).toEqual({ least: "1/3", greatest: close[0] });
  expect(extremes([])).toEqual({ least: "0", greatest: "0" });
});

test("very many different weights are not added again", () => {
  const many = Array.from({ length: 3000 }, (_, i) => `${i}/7919`);
  expect(sumText(many, "1")).toBe("1/1");
  expect(sumText(["1/2", "1/2"], "1")).toBe("2/2");
});
