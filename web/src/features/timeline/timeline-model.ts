/** Spans of some steps as lanes, one per actor, on one axis of seconds that begins with the first step. Pure. */
import type { Activity, StepTimeline } from "@/api/types";
import { ACTIVITIES } from "./activities";

/** What one actor did, by start. The columns are equally long; spans do not overlap. */
export interface Lane {
  actor: string;
  /** `rank` of `rank 3`: lanes of one kind stand together. */
  kind: string;
  start: number[];
  end: number[];
  activity: Activity[];
  step: number[];
}

export interface StepMark {
  step: number;
  from: number;
  to: number;
}

export interface Timeline {
  lanes: Lane[];
  marks: StepMark[];
  /** Seconds from the first step's start to the end of all. */
  durationS: number;
}

export interface Span {
  from: number;
  to: number;
  /** Null: waiting. */
  activity: Activity | null;
  step: number | null;
}

/** The driver first, then who generates, then who trains; kinds that nobody knows come last. */
const KINDS = ["driver", "engine", "rank"];

/** Steps of which nobody measured anything have a place and no spans. */
export function timelineOf(steps: readonly StepTimeline[]): Timeline {
  const origin = Math.min(...steps.map(({ started_at }) => Date.parse(started_at)));
  const lanes = new Map<string, Lane>();
  const marks: StepMark[] = [];
  for (const { step, started_at, ended_at, timeline: spans } of steps) {
    const offset = (Date.parse(started_at) - origin) / 1000;
    const to = (Date.parse(ended_at) - origin) / 1000;
    marks.push({ step, from: offset, to });
    spans?.actor.forEach((actor, i) => {
      const lane = lanes.get(actor) ?? emptyLane(actor);
      lanes.set(actor, lane);
      lane.start.push(offset + (spans.start_s[i] ?? 0));
      lane.end.push(offset + (spans.end_s[i] ?? 0));
      lane.activity.push(spans.activity[i] ?? "schedule");
      lane.step.push(step);
    });
  }
  const sorted = [...lanes.values()].map(byStart).sort(byKindAndNumber);
  const ends = [...marks.map(({ to }) => to), ...sorted.map(({ end }) => end.at(-1) ?? 0)];
  return { lanes: sorted, marks, durationS: Math.max(0, ...ends) };
}

function emptyLane(actor: string): Lane {
  return { actor, kind: kindOf(actor), start: [], end: [], activity: [], step: [] };
}

/** `rank 12` is a `rank`. */
export function kindOf(actor: string): string {
  return actor.replace(/\s*\d+$/, "") || actor;
}

/** Lanes of each kind, the kinds in their order. */
export function lanesByKind(lanes: readonly Lane[]): Map<string, Lane[]> {
  const kinds = new Map<string, Lane[]>();
  for (const lane of lanes) kinds.set(lane.kind, [...(kinds.get(lane.kind) ?? []), lane]);
  return kinds;
}

/** Spans of a later step may begin before the last ones of the step before end: a lane is by start. */
function byStart(lane: Lane): Lane {
  if (lane.start.every((start, i) => i === 0 || start >= (lane.start[i - 1] ?? 0))) return lane;
  const order = lane.start.map((_, i) => i).sort((a, b) => (lane.start[a] ?? 0) - (lane.start[b] ?? 0));
  const pick = <Value>(column: readonly Value[]) => order.map((i) => column[i] as Value);
  return {
    ...lane,
    start: pick(lane.start),
    end: pick(lane.end),
    activity: pick(lane.activity),
    step: pick(lane.step),
  };
}

function byKindAndNumber(a: Lane, b: Lane): number {
  return placeOf(a.kind) - placeOf(b.kind) || a.actor.localeCompare(b.actor, "en", { numeric: true });
}

function placeOf(kind: string): number {
  const place = KINDS.indexOf(kind);
  return place === -1 ? KINDS.length : place;
}

/** Index of the first span that ends after `at`. */
export function firstAfter(lane: Lane, at: number): number {
  let [low, high] = [0, lane.end.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lane.end[middle] ?? 0) > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** What the actor is at, or the wait that holds this moment; null outside of all steps. */
export function spanAt({ lanes, durationS }: Timeline, index: number, at: number): Span | null {
  const lane = lanes[index];
  if (!lane || at < 0 || at > durationS) return null;
  const i = firstAfter(lane, at);
  const start = lane.start[i];
  if (start !== undefined && start <= at) return spanOf(lane, i);
  return { from: lane.end[i - 1] ?? 0, to: start ?? durationS, activity: null, step: null };
}

function spanOf(lane: Lane, i: number): Span {
  return {
    from: lane.start[i] ?? 0,
    to: lane.end[i] ?? 0,
    activity: lane.activity[i] ?? null,
    step: lane.step[i] ?? null,
  };
}

/** The span or wait after or before this one; the same one at the ends. */
export function neighbour(timeline: Timeline, index: number, span: Span, by: 1 | -1): Span {
  const hair = Math.max(1e-6, timeline.durationS * 1e-9);
  const at = by === 1 ? span.to + hair : span.from - hair;
  return spanAt(timeline, index, at) ?? span;
}

/** Seconds of each activity between two moments, over all these lanes. */
export function secondsByActivity(lanes: readonly Lane[], from: number, to: number): Map<Activity, number> {
  const seconds = new Map<Activity, number>();
  for (const lane of lanes) {
    for (let i = firstAfter(lane, from); i < lane.start.length && (lane.start[i] ?? 0) < to; i += 1) {
      const activity = lane.activity[i] as Activity;
      const inside = Math.min(to, lane.end[i] ?? 0) - Math.max(from, lane.start[i] ?? 0);
      seconds.set(activity, (seconds.get(activity) ?? 0) + inside);
    }
  }
  return new Map(ACTIVITIES.flatMap((one) => (seconds.has(one) ? [[one, seconds.get(one) ?? 0]] : [])));
}

/** Share of the time between two moments in which the actor was at anything. */
export function busyFrac(lane: Lane, from: number, to: number): number {
  const busy = [...secondsByActivity([lane], from, to).values()].reduce((sum, one) => sum + one, 0);
  return to > from ? Math.min(1, busy / (to - from)) : 0;
}

export interface Wait {
  lane: number;
  from: number;
  to: number;
}

/** The longest wait of each actor between two moments, longest first. */
export function longestWaits({ lanes }: Timeline, from: number, to: number, most: number): Wait[] {
  return lanes
    .map((lane, index) => longestWait(lane, index, from, to))
    .filter((wait) => wait.to > wait.from)
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, most);
}

function longestWait(lane: Lane, index: number, from: number, to: number): Wait {
  let best: Wait = { lane: index, from, to: from };
  let free = from;
  const consider = (until: number) => {
    if (until - free > best.to - best.from) best = { lane: index, from: free, to: until };
  };
  for (let i = firstAfter(lane, from); i < lane.start.length && (lane.start[i] ?? 0) < to; i += 1) {
    consider(lane.start[i] ?? 0);
    free = Math.max(free, lane.end[i] ?? 0);
  }
  consider(to);
  return best;
}

/** For each of `count` slots of the window, how many of these lanes are at each activity, as a share. */
export function densityOf(
  lanes: readonly Lane[],
  from: number,
  to: number,
  count: number,
): Map<Activity, Float32Array> {
  const slots = new Map<Activity, Float32Array>();
  const slotS = (to - from) / count;
  const unit = 1 / (slotS * Math.max(1, lanes.length));
  for (const lane of lanes) {
    for (let i = firstAfter(lane, from); i < lane.start.length && (lane.start[i] ?? 0) < to; i += 1) {
      const activity = lane.activity[i] as Activity;
      const own = slots.get(activity) ?? new Float32Array(count);
      slots.set(activity, own);
      const [start, end] = [Math.max(from, lane.start[i] ?? 0) - from, Math.min(to, lane.end[i] ?? 0) - from];
      const last = Math.min(count - 1, Math.floor(end / slotS));
      for (let slot = Math.floor(start / slotS); slot <= last; slot += 1) {
        const inside = Math.min(end, (slot + 1) * slotS) - Math.max(start, slot * slotS);
        own[slot] = (own[slot] ?? 0) + inside * unit;
      }
    }
  }
  return slots;
}

/** The step at this moment; of two that overlap the later one; null between steps. */
export function markAt(marks: readonly StepMark[], at: number): StepMark | null {
  return marks.findLast(({ from, to }) => from <= at && at <= to) ?? null;
}
