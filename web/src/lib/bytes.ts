/** How sizes in bytes are written: three digits and a binary unit. Pure. */
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** The unit in which sizes up to this one are drawn on one axis. */
export function byteUnit(most: number): { size: number; name: string } {
  const power = most < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(most) / 10));
  return { size: 1024 ** power, name: UNITS[power] ?? "B" };
}

/** `0 B`, `1,000 B`, `1.50 KiB`, `12.3 GiB`. */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  // Bytes are counted in full; of a larger unit, from 999.5 up a value would be written with four digits.
  while (value >= (unit === 0 ? 1024 : 999.5) && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const text =
    unit === 0 || value >= 999.5 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
  return `${text}\u00a0${UNITS[unit]}`;
}
