/** What of the schedule's view lives in the URL. Parsed by the router; unknown or bad values fall away. */
export const WIDTHS = ["measured", "predicted"] as const;
export const COLOURS = ["tokens", "cost", "padding", "reward", "age", "carried"] as const;
/** Where odd steps are looked for: a phase of a run that warms up, or both. */
export const FINDS = ["rl", "warm", "all"] as const;
const PACKERS = ["first_fit_decreasing", "first_fit"] as const;
const BALANCES = ["cost", "tokens", "none"] as const;
const BARRIERS = ["step", "micro_batch"] as const;

export type Width = (typeof WIDTHS)[number];
export type Find = (typeof FINDS)[number];
export type Colour = (typeof COLOURS)[number];

/** What shall be different from what ran, under the names of the API. */
export interface WhatIfSearch {
  dp?: number;
  cp?: number;
  pp?: number;
  token_cap?: number;
  micro_batch_size?: number;
  packer?: (typeof PACKERS)[number];
  balance?: (typeof BALANCES)[number];
  barrier?: (typeof BARRIERS)[number];
}

export interface ScheduleSearch extends WhatIfSearch {
  /** Absent: the newest step, also when newer ones come. */
  step?: number;
  /** The sample of that step that a link points to. */
  sample?: number;
  width?: Width;
  colour?: Colour;
  /** Absent: in the phase of the step that is shown. */
  find?: Find;
}

export type ScheduleSearchPatch = { [K in keyof ScheduleSearch]?: ScheduleSearch[K] | undefined };

export function parseScheduleSearch(raw: Record<string, unknown>): ScheduleSearch {
  const width = WIDTHS.find((value) => value === raw.width);
  const colour = COLOURS.find((value) => value === raw.colour);
  const find = FINDS.find((value) => value === raw.find);
  return {
    ...(find !== undefined && { find }),
    ...(isCount(raw.step) && { step: raw.step }),
    ...(isCount(raw.step) && isCount(raw.sample) && { sample: raw.sample }),
    ...(width !== undefined && width !== "measured" && { width }),
    ...(colour !== undefined && colour !== "tokens" && { colour }),
    ...parseWhatIf(raw),
  };
}

export function parseWhatIf(raw: Record<string, unknown>): WhatIfSearch {
  const packer = PACKERS.find((value) => value === raw.packer);
  const balance = BALANCES.find((value) => value === raw.balance);
  const barrier = BARRIERS.find((value) => value === raw.barrier);
  return {
    ...(isSize(raw.dp) && { dp: raw.dp }),
    ...(isSize(raw.cp) && { cp: raw.cp }),
    ...(isSize(raw.pp) && { pp: raw.pp }),
    ...(isSize(raw.token_cap)
      ? { token_cap: raw.token_cap }
      : isSize(raw.micro_batch_size) && { micro_batch_size: raw.micro_batch_size }),
    ...(packer !== undefined && { packer }),
    ...(balance !== undefined && { balance }),
    ...(barrier !== undefined && { barrier }),
  };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isSize(value: unknown): value is number {
  return isCount(value) && value > 0;
}
