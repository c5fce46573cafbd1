import { expect, test } from "vitest";
import { compareFractions, fractionText, sumOverCommon } from "./fractions";

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

test("fractions are compared by value", () => {
  expect(["1/3", "1/10", "0", "2/5"].sort(compareFractions)).toEqual(["0", "1/10", "1/3", "2/5"]);
});
