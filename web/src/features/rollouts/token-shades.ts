/** The colour behind each token, and what its ends mean. Pure. */
import type { Shade } from "./rollouts-search";

/** What is known of the tokens of a response. The columns are as long as `pieces`, or empty. */
export interface TokenColumns {
  pieces: readonly string[];
  log_probs: readonly number[];
  trainer_log_probs: readonly number[];
}

export interface TokenShade {
  /** Tokens of the colours, `wash-2`, `div-5`; null: none. */
  token: string | null;
  /** Far out: underlined as well. */
  isFar: boolean;
}

/** A log-prob below each of these is one wash darker. */
const WASH_BELOW = [-0.6, -1, -2, -4];
/** A difference or a push above each of these is one colour further from the centre. */
const GAP_ABOVE = [0.02, 0.1, 0.5];
const PUSH_ABOVE = [0.02, 0.25, 0.75];

const NONE: TokenShade = { token: null, isFar: false };

export function shadesOf(tokens: TokenColumns, shade: Shade, advantage: number | null): TokenShade[] {
  return tokens.pieces.map((_, i) => shadeOf(tokens, i, shade, advantage));
}

function shadeOf(tokens: TokenColumns, i: number, shade: Shade, advantage: number | null): TokenShade {
  if (shade === "log_prob") return washOf(tokens.log_probs[i]);
  if (shade === "gap") return divergingOf(gapOf(tokens, i), GAP_ABOVE);
  if (shade === "advantage") return divergingOf(pushOf(tokens, i, advantage), PUSH_ABOVE);
  return NONE;
}

function washOf(logProb: number | undefined): TokenShade {
  if (logProb === undefined) return NONE;
  const level = WASH_BELOW.filter((bound) => logProb < bound).length;
  return level === 0 ? NONE : { token: `wash-${level}`, isFar: level === WASH_BELOW.length };
}

function divergingOf(value: number | null, above: readonly number[]): TokenShade {
  if (value === null) return NONE;
  const level = above.filter((bound) => Math.abs(value) > bound).length;
  if (level === 0) return NONE;
  return { token: `div-${3 + Math.sign(value) * level}`, isFar: level === above.length };
}

/** The trainer's log-prob less the engine's: what importance weights are made of. */
export function gapOf({ log_probs, trainer_log_probs }: TokenColumns, i: number): number | null {
  const [engine, trainer] = [log_probs[i], trainer_log_probs[i]];
  return engine === undefined || trainer === undefined ? null : trainer - engine;
}

/** How hard the step pushes this token: the advantage times what is missing to probability 1. */
export function pushOf({ log_probs }: TokenColumns, i: number, advantage: number | null): number | null {
  const logProb = log_probs[i];
  return logProb === undefined || advantage === null ? null : advantage * (1 - Math.exp(logProb));
}

/** Shades for which these tokens have what they need. */
export function shadeChoices(tokens: TokenColumns, advantage: number | null): Shade[] {
  if (tokens.log_probs.length === 0) return ["none"];
  return [
    "log_prob",
    ...(advantage !== null ? (["advantage"] as const) : []),
    ...(tokens.trainer_log_probs.length > 0 ? (["gap"] as const) : []),
    "none",
  ];
}

export interface ShadeLegend {
  low: string;
  /** Tokens of the colours, from low to high. */
  tokens: readonly string[];
  high: string;
  title: string;
}

export const LEGENDS: Record<Exclude<Shade, "none">, ShadeLegend> = {
  log_prob: {
    low: "0",
    tokens: ["wash-0", "wash-1", "wash-2", "wash-3", "wash-4"],
    high: "below −4",
    title: "Log-prob of the engine that sampled the token",
  },
  advantage: {
    low: "pushed down",
    tokens: ["div-0", "div-1", "div-2", "div-3", "div-4", "div-5", "div-6"],
    high: "up",
    title: "Advantage × (1 − probability): how hard the step pushes this token",
  },
  gap: {
    low: "trainer lower",
    tokens: ["div-0", "div-1", "div-2", "div-3", "div-4", "div-5", "div-6"],
    high: "higher",
    title: "Log-prob of the trainer less that of the engine: 0.02, 0.1, 0.5 and more",
  },
};

/** The mean; null of nothing. */
export function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** What of a response follows the tokens that are recorded. Nothing where they reach its end, which is a token of its
 * own and no text. */
export function restOf(text: string, pieces: readonly string[]): string {
  const told = pieces.join("");
  return text.startsWith(told) ? text.slice(told.length) : "";
}

/** Tokens in which what is looked for stands, also where it spans several of them. */
export function hitTokens(pieces: readonly string[], query: string): ReadonlySet<number> {
  const hits = new Set<number>();
  const wanted = query.toLowerCase();
  if (wanted === "") return hits;
  const text = pieces.map((piece) => piece.toLowerCase()).join("");
  let [i, end] = [0, pieces[0]?.toLowerCase().length ?? 0];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) {
    while (end <= at) end += pieces[++i]?.toLowerCase().length ?? Number.POSITIVE_INFINITY;
    for (let [k, until] = [i, end]; k < pieces.length; until += pieces[++k]?.toLowerCase().length ?? 0) {
      hits.add(k);
      if (until >= at + wanted.length) break;
    }
  }
  return hits;
}
