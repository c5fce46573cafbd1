/** What of the overview's view lives in the URL. Parsed by the router; unknown or bad values fall away. */
import type { XAxis } from "@/api/types";
import { X_AXES } from "@/components/chart/x-axes";

export interface RunSearch {
  x?: XAxis;
  log?: boolean;
  /** False: without bands of min to max. */
  bands?: boolean;
  /** False: without superseded attempts. */
  old?: boolean;
  /** What the average keeps of itself per step, 0 < smooth < 1. */
  smooth?: number;
  /** Ends of the zoomed range on the x axis; without `to` up to the newest step. */
  from?: number;
  to?: number;
  /** Find a metric. */
  find?: string;
  /** Groups that are not as they are by default: closed ones that were opened, open ones that were closed. */
  toggled?: string[];
  /** Pinned metrics in their order; absent: the default ones. */
  pins?: string[];
}

export type RunSearchPatch = { [K in keyof RunSearch]?: RunSearch[K] | undefined };

const MAX_SMOOTH = 0.99;

export function parseRunSearch(raw: Record<string, unknown>): RunSearch {
  const x = X_AXES.find((axis) => axis === raw.x);
  const smooth = finite(raw.smooth);
  const [from, to] = [finite(raw.from), finite(raw.to)];
  const toggled = Array.isArray(raw.toggled) ? raw.toggled.filter((name) => typeof name === "string") : [];
  return {
    ...(x !== undefined && x !== "step" && { x }),
    ...(raw.log === true && { log: true }),
    ...(raw.bands === false && { bands: false }),
    ...(raw.old === false && { old: false }),
    ...(smooth !== null && smooth > 0 && { smooth: Math.min(smooth, MAX_SMOOTH) }),
    ...(from !== null && raw.to === undefined && { from }),
    ...(from !== null && to !== null && from < to && { from, to }),
    ...(typeof raw.find === "string" && raw.find !== "" && { find: raw.find }),
    ...(toggled.length > 0 && { toggled }),
    ...(Array.isArray(raw.pins) && {
      pins: [...new Set(raw.pins.filter((name) => typeof name === "string"))],
    }),
  };
}

function finite(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
