/** What of the schedule's view lives in the URL. Parsed by the router; unknown or bad values fall away. */
export const WIDTHS = ["measured", "predicted"] as const;
export const COLOURS = ["tokens", "cost", "reward", "age"] as const;

export type Width = (typeof WIDTHS)[number];
export type Colour = (typeof COLOURS)[number];

export interface ScheduleSearch {
  /** Absent: the newest step, also when newer ones come. */
  step?: number;
  width?: Width;
  colour?: Colour;
}

export type ScheduleSearchPatch = { [K in keyof ScheduleSearch]?: ScheduleSearch[K] | undefined };

export function parseScheduleSearch(raw: Record<string, unknown>): ScheduleSearch {
  const width = WIDTHS.find((value) => value === raw.width);
  const colour = COLOURS.find((value) => value === raw.colour);
  return {
    ...(typeof raw.step === "number" &&
      Number.isSafeInteger(raw.step) &&
      raw.step >= 0 && { step: raw.step }),
    ...(width !== undefined && width !== "measured" && { width }),
    ...(colour !== undefined && colour !== "tokens" && { colour }),
  };
}
