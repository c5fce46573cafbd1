/** Which metrics stand where on the overview: pinned ones first, then groups by prefix. Pure. */
import { BATCH_SIZE, IDLE, LOSS, LR } from "@/components/chart/metric-names";

/** The hero shows these itself. */
const HERO = [BATCH_SIZE, LOSS];
export const DEFAULT_PINS: readonly string[] = ["reward/mean", IDLE, "train/grad_norm", LR];
/** Groups that say whether the run goes well, in this order; they are open. The others follow by name, closed. */
const OPEN = ["reward", "train", "rollout", "eval"];
/** The step's own columns have no prefix. */
const STEP_GROUP = "step";

export interface MetricGroup {
  name: string;
  metrics: string[];
  opensByDefault: boolean;
}

export interface Arrangement {
  pinned: string[];
  groups: MetricGroup[];
}

export function prefixOf(name: string): string {
  const slash = name.indexOf("/");
  return slash > 0 ? name.slice(0, slash) : STEP_GROUP;
}

/** `names` come from the catalogue; a metric stands in one place only. */
export function arrange(names: readonly string[], pins: readonly string[] = DEFAULT_PINS): Arrangement {
  const pinned = pins.filter((name) => names.includes(name));
  const byPrefix = new Map<string, string[]>();
  for (const name of names) {
    if (HERO.includes(name) || pinned.includes(name)) continue;
    const prefix = prefixOf(name);
    byPrefix.set(prefix, [...(byPrefix.get(prefix) ?? []), name]);
  }
  const groups = [...byPrefix].map(([name, metrics]) => ({
    name,
    metrics,
    opensByDefault: OPEN.includes(name),
  }));
  return {
    pinned,
    groups: groups.sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name)),
  };
}

function rank(group: string): number {
  const place = OPEN.indexOf(group);
  if (place >= 0) return place;
  return group === STEP_GROUP ? OPEN.length + 1 : OPEN.length;
}

/** The pins with this metric pinned last, or no longer pinned. */
export function togglePin(pins: readonly string[], name: string): string[] {
  return pins.includes(name) ? pins.filter((pin) => pin !== name) : [...pins, name];
}

/** The pins with this one so many places further on among those that are shown. */
export function movePin(
  pins: readonly string[],
  shown: readonly string[],
  name: string,
  by: 1 | -1,
): string[] {
  const neighbour = shown[shown.indexOf(name) + by];
  if (neighbour === undefined) return [...pins];
  return pins.map((pin) => (pin === name ? neighbour : pin === neighbour ? name : pin));
}

/** Names that hold every word of the query, in any order. */
export function findMetrics(names: readonly string[], query: string): string[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return names.filter((name) => words.every((word) => name.toLowerCase().includes(word)));
}
