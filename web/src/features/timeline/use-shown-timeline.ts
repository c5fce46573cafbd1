/** The steps that are shown, and their timeline as it is read. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { stepsOptions } from "@/api/steps";
import { timelineOptions } from "@/api/timeline";
import { usePaced } from "@/lib/use-paced";
import { timelineOf } from "./timeline-model";
import type { TimelineSearch } from "./timeline-search";

/** Steps may come many times a second; each costs requests, and a picture that changes faster is not read. */
const PACE_MS = 1000;

/** The chosen step, otherwise the newest; `isHeld`: the one that is there stays. */
export function useShownTimeline(runId: string, search: TimelineSearch, newest: number, isHeld: boolean) {
  const followed = usePaced(newest, PACE_MS, isHeld);
  const last = Math.min(newest, search.step ?? followed);
  const first = Math.max(0, last - (search.steps ?? 1) + 1);
  const { data, error, refetch, isPlaceholderData: isOld } = useQuery(timelineOptions(runId, first, last));
  const { data: rows } = useQuery(stepsOptions(runId, first, last - first + 1));
  const timeline = useMemo(() => timelineOf(data?.items ?? []), [data]);
  const batchSizes = new Map(rows?.items.map((row) => [row.step, row.global_batch_size]));
  return { first, last, data, error, refetch, isOld, timeline, batchSizes };
}
