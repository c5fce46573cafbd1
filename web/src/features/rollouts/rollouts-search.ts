/** What of the rollouts' view lives in the URL. Parsed by the router; unknown or bad values fall away. */
export const FATES = ["trained", "filtered", "dropped", "carried"] as const;
export const SHADES = ["log_prob", "gap", "advantage", "none"] as const;

export type Fate = (typeof FATES)[number];
export type Shade = (typeof SHADES)[number];

export interface RolloutsFilter {
  /** Of the prompt or a response. */
  q?: string;
  fate?: Fate;
  /** Why it was filtered or dropped. */
  reason?: string;
  truncated?: boolean;
  reward_min?: number;
  reward_max?: number;
}

export interface RolloutsSearch extends RolloutsFilter {
  /** Absent, with `step` and `all` absent too: the newest iteration, also when newer ones come. */
  iteration?: number;
  /** Only what this step trained. */
  step?: number;
  /** All iterations. */
  all?: boolean;
  group?: string;
  rollout?: string;
  /** The rollout that the chosen one is compared with. */
  diff?: string;
  shade?: Shade;
}

export type RolloutsSearchPatch = { [K in keyof RolloutsSearch]?: RolloutsSearch[K] | undefined };

export function parseRolloutsSearch(raw: Record<string, unknown>): RolloutsSearch {
  const shade = SHADES.find((value) => value === raw.shade);
  return {
    ...parseScope(raw),
    ...parseFilter(raw),
    ...text("group", raw.group),
    ...text("rollout", raw.rollout),
    ...text("diff", raw.diff),
    ...(shade !== undefined && shade !== "log_prob" && { shade }),
  };
}

/** One of the three at most: an iteration, a step, all. */
function parseScope(raw: Record<string, unknown>): Pick<RolloutsSearch, "iteration" | "step" | "all"> {
  if (isCount(raw.step)) return { step: raw.step };
  if (isCount(raw.iteration)) return { iteration: raw.iteration };
  return raw.all === true ? { all: true } : {};
}

export function parseFilter(raw: Record<string, unknown>): RolloutsFilter {
  const fate = FATES.find((value) => value === raw.fate);
  return {
    ...text("q", raw.q),
    ...(fate !== undefined && { fate }),
    ...text("reason", raw.reason),
    ...(raw.truncated === true && { truncated: true }),
    ...(isReward(raw.reward_min) && { reward_min: raw.reward_min }),
    ...(isReward(raw.reward_max) && { reward_max: raw.reward_max }),
  };
}

/** A text that looks like a number comes from the URL as one. */
function text<Key extends string>(key: Key, value: unknown): { [K in Key]?: string } {
  const isText = typeof value === "string" || typeof value === "number";
  return isText && value !== "" ? ({ [key]: String(value) } as { [K in Key]?: string }) : {};
}

function isReward(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
