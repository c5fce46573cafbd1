/** The x axes that charts of runs can have, as they are chosen. */
import type { XAxis } from "@/api/types";

export const X_AXES = ["step", "samples", "tokens", "time", "relative"] as const satisfies readonly XAxis[];

const TITLES: Partial<Record<XAxis, string>> = {
  samples: "Rollouts trained so far; those that a filter left out are not among them",
  tokens: "Tokens trained so far",
};

export const X_OPTIONS = X_AXES.map((value) => ({
  value,
  label: value[0]?.toUpperCase() + value.slice(1),
  title: TITLES[value],
}));
