/** What of the comparison lives in the URL. */
import type { XAxis } from "@/api/types";
import { X_AXES } from "@/components/chart/x-axes";

export const MOST_RUNS = 20;
export const DEFAULT_METRICS = ["reward/mean", "global_batch_size", "train/loss", "measured_idle_frac"];

export interface CompareSearch {
  runs?: string[];
  x?: XAxis;
  log?: boolean;
  bands?: boolean;
  smooth?: number;
  /** True: without the supervised steps of runs that begin with such. */
  rl?: boolean;
  from?: number;
  to?: number;
  /** Runs that are not drawn. */
  hidden?: string[];
  /** Absent: the default ones. */
  metrics?: string[];
  /** True: fields that are equal in all runs as well. */
  all?: boolean;
}

export type CompareSearchPatch = { [K in keyof CompareSearch]?: CompareSearch[K] | undefined };

export function parseCompareSearch(raw: Record<string, unknown>): CompareSearch {
  const x = X_AXES.find((axis) => axis === raw.x);
  const runs = texts(raw.runs).slice(0, MOST_RUNS);
  const hidden = texts(raw.hidden).filter((id) => runs.includes(id));
  const [from, to] = [finite(raw.from), finite(raw.to)];
  const smooth = finite(raw.smooth);
  return {
    ...(runs.length > 0 && { runs }),
    ...(x !== undefined && x !== "step" && { x }),
    ...(raw.log === true && { log: true }),
    ...(raw.bands === true && { bands: true }),
    ...(smooth !== null && smooth > 0 && smooth < 1 && { smooth }),
    ...(raw.rl === true && { rl: true }),
    ...(from !== null && to !== null && from < to && { from, to }),
    ...(hidden.length > 0 && { hidden }),
    ...(Array.isArray(raw.metrics) && { metrics: texts(raw.metrics) }),
    ...(raw.all === true && { all: true }),
  };
}

/** Each once, in their order. */
function texts(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return [...new Set(value.filter((one): one is string => typeof one === "string" && one !== ""))];
}

function finite(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
