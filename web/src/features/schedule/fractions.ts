/** Exact fractions as the certificate writes them: `1/136`, `0`. Pure; numbers of any size. */

export interface Fraction {
  top: bigint;
  bottom: bigint;
}

export function parseFraction(text: string): Fraction {
  const [top = "0", bottom = "1"] = text.split("/");
  return { top: BigInt(top), bottom: BigInt(bottom) };
}

function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}

/** More different fractions than this are not added here: it would take long, and the server has added them. */
const MOST_ADDED = 2000;

/** The sum of the weights in words; `told`: what the server has added them up to. */
export function sumText(texts: readonly string[], told: string): string {
  return new Set(texts).size > MOST_ADDED
    ? fractionText(parseFraction(told))
    : fractionText(sumOverCommon(texts));
}

/** The sum over the smallest denominator that all share, not reduced: `136/136` shows what was added. */
export function sumOverCommon(texts: readonly string[]): Fraction {
  // Many samples have one weight: it is counted, and multiplied once.
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const fractions = [...counts].map(([text, count]) => ({ ...parseFraction(text), count: BigInt(count) }));
  const bottoms = new Set(fractions.map(({ bottom }) => bottom));
  const bottom = [...bottoms].reduce((common, one) => (common / gcd(common, one)) * one, 1n);
  const top = fractions.reduce((total, one) => total + one.count * one.top * (bottom / one.bottom), 0n);
  return { top, bottom };
}

/** Longer ones say nothing that a reader can see; the sum is told in lowest terms beside it. */
const MAX_DIGITS = 12;

/** `136/136`; of very long ones the number of digits: `1 (over a denominator of 214 digits)`. */
export function fractionText({ top, bottom }: Fraction): string {
  const digits = bottom.toString().length;
  if (digits <= MAX_DIGITS) return `${top}/${bottom}`;
  const common = gcd(top, bottom) || 1n;
  const [a, b] = [top / common, bottom / common];
  if (b.toString().length > MAX_DIGITS) return `a fraction of ${digits} digits`;
  return `${b === 1n ? a : `${a}/${b}`} (over a denominator of ${digits} digits)`;
}

/** The least and the greatest, as they are written; of none both are 0. */
export function extremes(texts: readonly string[]): { least: string; greatest: string } {
  const [first = "0", ...others] = new Set(texts);
  let [least, greatest] = [first, first];
  for (const text of others) {
    if (isLess(text, least)) least = text;
    if (isLess(greatest, text)) greatest = text;
  }
  return { least, greatest };
}

/** What floats tell apart by more is not alike; only closer ones are compared exactly. */
const FLOAT_ERROR = 1e-9;

function isLess(a: string, b: string): boolean {
  const [x, y] = [asFloat(a), asFloat(b)];
  if (Math.abs(x - y) > FLOAT_ERROR * Math.max(x, y)) return x < y;
  const [left, right] = [parseFraction(a), parseFraction(b)];
  return left.top * right.bottom < right.top * left.bottom;
}

/** NaN where both parts are beyond every float. */
function asFloat(text: string): number {
  const slash = text.indexOf("/");
  return slash < 0 ? Number(text) : Number(text.slice(0, slash)) / Number(text.slice(slash + 1));
}
