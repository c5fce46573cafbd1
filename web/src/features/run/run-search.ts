/** What of the overview's view lives in the URL. Parsed by the router; unknown or bad values fall away. */
export interface RunSearch {
  x?: "step" | "samples" | "tokens" | "time" | "relative";
}

export function parseRunSearch(raw: Record<string, unknown>): RunSearch {
  const x = ["step", "samples", "tokens", "time", "relative"].find((axis) => axis === raw.x);
  return x === undefined ? {} : { x: x as NonNullable<RunSearch["x"]> };
}
