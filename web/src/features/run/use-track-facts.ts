/** What a legend says of a track. It renders anew only when its words change, not with every point. */
import { useMemo, useSyncExternalStore } from "react";
import { type MetricTrack, sampledCounts } from "@/components/chart/metric-track";
import type { NonFiniteCounts } from "@/components/chart/non-finite-marks";
import { nonFiniteCounts } from "@/components/chart/readings";
import { formatInteger } from "@/lib/numbers";

export interface TrackFacts {
  /** `sampled: 1,000 of 20,000`; null when all points are drawn. */
  sampled: string | null;
  stepsPerBucket: number;
  /** Counts of what no axis can hold. */
  nonFinite: NonFiniteCounts;
  /** `attempt 1, superseded from 640`, one per attempt. */
  old: string[];
  isEmpty: boolean;
}

function factsOf(track: MetricTrack): TrackFacts {
  const counts = sampledCounts(track);
  return {
    sampled: counts && `sampled: ${formatInteger(counts.shown)} of ${formatInteger(counts.total)}`,
    stepsPerBucket: track.stepsPerBucket,
    nonFinite: nonFiniteCounts(track),
    old: track.old.map(
      ({ attempt, columns }) => `attempt ${attempt}, superseded from ${formatInteger(columns.step[0] ?? 0)}`,
    ),
    isEmpty: track.columns.x.length === 0 && track.marks.length === 0,
  };
}

export function useTrackFacts(track: MetricTrack): TrackFacts {
  const text = useSyncExternalStore(
    (listener) => track.onChange(listener),
    () => JSON.stringify(factsOf(track)),
  );
  return useMemo(() => JSON.parse(text) as TrackFacts, [text]);
}
