/** What of the configuration is shown, in the URL. */
export interface ConfigSearch {
  /** Id of the run that it is laid beside. */
  against?: string;
  /** Text that the path or the value contain. */
  q?: string;
  /** Only the fields that differ from the other run's. */
  only?: boolean;
}

export type ConfigSearchPatch = { [K in keyof ConfigSearch]?: ConfigSearch[K] | undefined };

export function parseConfigSearch(raw: Record<string, unknown>): ConfigSearch {
  const q = typeof raw.q === "string" || typeof raw.q === "number" ? String(raw.q) : "";
  return {
    ...(typeof raw.against === "string" && raw.against !== "" && { against: raw.against }),
    ...(q !== "" && { q }),
    ...(raw.only === true && { only: true }),
  };
}
