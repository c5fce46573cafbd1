/** What an actor can be at, in the order in which a step goes, with its words and its colour. Pure. */
import type { Activity } from "@/api/types";

export const ACTIVITIES: readonly Activity[] = [
  "generate",
  "score",
  "log_probs",
  "schedule",
  "forward_backward",
  "optimizer",
  "push",
  "evaluate",
  "save",
];

interface ActivityLook {
  label: string;
  /** Token of the fill. */
  token: string;
}

/** Never told apart by colour alone: names stand in the wide boxes, in the card, in the legend and in the table. */
export const LOOKS: Record<Activity, ActivityLook> = {
  generate: { label: "Generate", token: "series-1" },
  score: { label: "Score", token: "series-6" },
  log_probs: { label: "Log-probs", token: "series-4" },
  schedule: { label: "Schedule", token: "line-3" },
  forward_backward: { label: "Forward-backward", token: "series-3" },
  optimizer: { label: "Optimizer", token: "series-5" },
  push: { label: "Push weights", token: "series-2" },
  evaluate: { label: "Evaluate", token: "series-8" },
  save: { label: "Save", token: "series-7" },
};

export const WAITING = "Waiting";
