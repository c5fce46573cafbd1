/** What the card says of one span, one wait, or one moment of a folded kind. Pure. */
import { formatDuration } from "@/lib/durations";
import { formatInteger, formatPercent } from "@/lib/numbers";
import { LOOKS, WAITING } from "./activities";
import { firstAfter, type Lane, markAt, type Span, type Timeline } from "./timeline-model";

export interface SpanCard {
  title: string;
  place: string;
  facts: { label: string; value: string }[];
}

export function spanCard(timeline: Timeline, lane: number, span: Span): SpanCard {
  const mark = markAt(timeline.marks, span.from) ?? markAt(timeline.marks, span.to);
  const origin = mark?.from ?? 0;
  const length = span.to - span.from;
  return {
    title: span.activity ? LOOKS[span.activity].label : WAITING,
    place: timeline.lanes[lane]?.actor ?? "",
    facts: [
      ...(mark ? [{ label: "Step", value: formatInteger(span.step ?? mark.step) }] : []),
      ...microBatchFact(timeline.lanes[lane], span),
      { label: "Takes", value: formatDuration(length) },
      { label: "From, in its step", value: formatDuration(Math.max(0, span.from - origin)) },
      ...(mark && mark.to > mark.from
        ? [{ label: "Of the step", value: formatPercent(Math.min(1, length / (mark.to - mark.from))) }]
        : []),
    ],
  };
}

/** On a rank the nth box of a step is its nth micro-batch. */
function microBatchFact(lane: Lane | undefined, span: Span): { label: string; value: string }[] {
  if (lane?.kind !== "rank" || span.activity !== "forward_backward") return [];
  const at = firstAfter(lane, span.from);
  let number = 0;
  for (let i = at - 1; i >= 0 && lane.step[i] === span.step; i -= 1) {
    if (lane.activity[i] === "forward_backward") number += 1;
  }
  return [{ label: "Micro-batch", value: formatInteger(number) }];
}

/** How many actors of a kind are at what at a moment. */
export function kindCard(timeline: Timeline, kind: string, lanes: readonly number[], at: number): SpanCard {
  const counts = new Map<string, number>();
  for (const index of lanes) {
    const lane = timeline.lanes[index];
    if (!lane) continue;
    const i = firstAfter(lane, at);
    const isBusy = (lane.start[i] ?? Number.POSITIVE_INFINITY) <= at;
    const label = isBusy ? LOOKS[lane.activity[i] ?? "schedule"].label : WAITING;
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const mark = markAt(timeline.marks, at);
  return {
    title: `${formatInteger(lanes.length)} ${kind}s`,
    place: mark ? `step ${formatInteger(mark.step)}, ${formatDuration(at - mark.from)}` : "",
    facts: [...counts]
      .sort((a, b) => b[1] - a[1])
      .map(([label, count]) => ({ label, value: formatInteger(count) })),
  };
}

export function cardText({ title, place, facts }: SpanCard): string {
  return [title, place, ...facts.map(({ label, value }) => `${label} ${value}`)].join("; ");
}
