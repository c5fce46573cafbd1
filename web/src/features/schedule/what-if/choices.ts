/** What can be asked of a step that ran: its settings, the choices around them, and what differs. Pure. */
import type { Geometry, Schedule, WhatIf } from "@/api/types";
import { formatCount, formatInteger } from "@/lib/numbers";
import type { WhatIfSearch } from "../schedule-search";
import { IDLE_POINTS } from "../step-sentences";

/** As the API counts them: the cap is that of one context-parallel rank. */
export function geometryOf(schedule: Schedule): Geometry {
  const { cp, pp, vpp, token_cap, micro_batch_size, packer, balance, barrier } = schedule;
  return {
    dp: schedule.micro_batches.length,
    cp,
    pp,
    vpp,
    token_cap: token_cap == null ? null : Math.max(1, Math.floor(token_cap / cp)),
    micro_batch_size: micro_batch_size ?? null,
    packer,
    balance,
    barrier,
    // Dummies that may be skipped at pp 1 and yet run are those of a gradient reduction that overlaps.
    overlap_grad_reduce: !schedule.skips_dummies && pp === 1 && barrier === "step",
  };
}

/** Only what differs from what ran: choosing what ran asks for nothing. */
export function changesOf(ran: Geometry, search: WhatIfSearch): WhatIfSearch {
  const keys = ["dp", "cp", "pp", "token_cap", "micro_batch_size", "packer", "balance", "barrier"] as const;
  return Object.fromEntries(
    keys
      // An address may name a packer that this step has no use for.
      .filter((key) => key !== "packer" || ran.token_cap !== null)
      .flatMap((key) => (search[key] !== undefined && search[key] !== ran[key] ? [[key, search[key]]] : [])),
  );
}

/** Sizes of an axis to choose from, ascending: what ran in their middle where it can be, at most five. */
export function axisChoices(ran: number, chosen: number): number[] {
  const around = [ran / 4, ran / 2, ran, ran * 2, ran * 4, ran * 8, ran * 16];
  const whole = around.filter((size) => Number.isInteger(size)).slice(0, 5);
  if (whole.includes(chosen)) return whole;
  return [...whole.filter((size) => size !== whole.at(-1) || size === ran), chosen].sort((a, b) => a - b);
}

/** Halves of octaves to both sides of what ran. */
const CAP_STEPS = 8;

/** Caps that the slider stops at: from a sixteenth to sixteen times what ran, which is one of them. */
export function capStops(ran: number): number[] {
  const stops = Array.from({ length: 2 * CAP_STEPS + 1 }, (_, i) =>
    Math.max(1, Math.round(ran * 2 ** ((i - CAP_STEPS) / 2))),
  );
  return [...new Set(stops)];
}

/** The stop nearest to a cap that may have been typed into the address. */
export function nearestStop(stops: readonly number[], cap: number): number {
  return stops.reduce(
    (best, stop, i) =>
      Math.abs(Math.log(stop / cap)) < Math.abs(Math.log((stops[best] ?? 1) / cap)) ? i : best,
    0,
  );
}

/** `dp 4, cp 2, cap 2 × 8,192`. */
export function geometryText({ dp, cp, pp, token_cap, micro_batch_size }: Geometry): string {
  const times = cp > 1 ? `${formatInteger(cp)} × ` : "";
  const cut =
    token_cap === null
      ? `${formatInteger(micro_batch_size ?? 0)} samples a micro-batch`
      : `cap ${times}${formatInteger(token_cap)}`;
  return [layoutText({ dp, cp, pp }), cut].join(", ");
}

function layoutText({ dp, cp, pp }: Pick<Geometry, "dp" | "cp" | "pp">): string {
  return [`dp ${dp}`, `cp ${cp}`, ...(pp > 1 ? [`pp ${pp}`] : [])].join(", ");
}

/** Ranks that both layouts need; tensor-parallel ranks are the same in both. */
export function ranksText(ran: Geometry, asked: Geometry, tp: number): string {
  const [before, after] = [numRanks(ran, tp), numRanks(asked, tp)];
  return before === after
    ? `${formatInteger(after)}, as it ran`
    : `${formatInteger(after)} instead of ${formatInteger(before)}`;
}

/** What to think of seconds that are scaled by a step whose ranks waited longer than planned; empty where they did not. */
export function scaleText({ ran_measured: measured, ran_figures: ran }: WhatIf): string {
  return measured && measured.idle_frac - ran.predicted_idle_frac > IDLE_POINTS
    ? "In this step ranks waited longer than planned, and all seconds are scaled by it: trust the ratio, not the seconds."
    : "";
}

/** What an estimate under another layout takes for granted, in a sentence. */
export function assumptionText(ran: Geometry, asked: Geometry, tp: number): string {
  const more = numRanks(asked, tp) - numRanks(ran, tp);
  if (more === 0) return "The estimate takes all devices as equal; communication is not counted.";
  const devices = formatCount(Math.abs(more), more > 0 ? "more device" : "fewer device");
  return `${layoutText(asked)} assumes ${devices}, equal to those that ran; communication is not counted.`;
}

export function numRanks({ dp, cp, pp }: Geometry, tp: number): number {
  return dp * cp * pp * tp;
}
