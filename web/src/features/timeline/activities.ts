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
  /** Where the label has no room. */
  short: string;
  /** Token of the fill. */
  token: string;
}

/** Never told apart by colour alone: names stand in the wide boxes, in the card, in the legend and in the table. */
export const LOOKS: Record<Activity, ActivityLook> = {
  generate: { label: "Generate", short: "Gen", token: "series-1" },
  score: { label: "Score", short: "Score", token: "series-6" },
  log_probs: { label: "Log-probs", short: "LP", token: "series-4" },
  schedule: { label: "Schedule", short: "Sched", token: "line-3" },
  forward_backward: { label: "Forward-backward", short: "Fwd-bwd", token: "series-3" },
  optimizer: { label: "Optimizer", short: "Opt", token: "series-5" },
  push: { label: "Push weights", short: "Push", token: "series-2" },
  evaluate: { label: "Evaluate", short: "Eval", token: "series-8" },
  save: { label: "Save", short: "Save", token: "series-7" },
};

export const WAITING = "Waiting";
