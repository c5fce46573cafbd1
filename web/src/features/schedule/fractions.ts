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

/** The sum over the smallest denominator that all share, not reduced: `136/136` shows what was added. */
export function sumOverCommon(texts: readonly string[]): Fraction {
  const fractions = texts.map(parseFraction);
  const bottom = fractions.reduce((common, one) => (common / gcd(common, one.bottom)) * one.bottom, 1n);
  const top = fractions.reduce((total, one) => total + one.top * (bottom / one.bottom), 0n);
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

export function compareFractions(a: string, b: string): number {
  const [x, y] = [parseFraction(a), parseFraction(b)];
  const [left, right] = [x.top * y.bottom, y.top * x.bottom];
  return left < right ? -1 : left > right ? 1 : 0;
}
