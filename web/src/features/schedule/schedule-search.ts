/** What of the schedule's view lives in the URL. Parsed by the router; unknown or bad values fall away. */
export interface ScheduleSearch {
  step?: number;
}

export function parseScheduleSearch(raw: Record<string, unknown>): ScheduleSearch {
  return typeof raw.step === "number" && Number.isSafeInteger(raw.step) && raw.step >= 0
    ? { step: raw.step }
    : {};
}
