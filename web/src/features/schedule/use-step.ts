/** The record and the schedule of one step, with the old step's in view until both are there. */
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { scheduleOptions, stepOptions } from "@/api/steps";
import type { StepRow, StepSchedule } from "@/api/types";

export interface ShownStep {
  row: StepRow | null;
  record: StepSchedule | null;
  /** Its row is known, and says that there is none. */
  isWithoutSchedule: boolean;
  error: Error | null;
  retry: () => void;
}

export function useStep(runId: string, step: number, newest: number): ShownStep {
  const row = useQuery(stepOptions(runId, step));
  // One that does not exist is not asked for: the browser would log the refusal as an error of the page.
  const isKnown = row.data !== undefined && !row.isPlaceholderData;
  const isWithoutSchedule = isKnown && !row.data.has_schedule;
  const record = useQuery({ ...scheduleOptions(runId, step), enabled: isKnown && row.data.has_schedule });
  usePrefetch(runId, step, newest);
  const whole = useRef<{ row: StepRow; record: StepSchedule } | null>(null);
  // The two answers come apart; a grid of one step beside the figures of another would be wrong.
  if (row.data && record.data && !row.isPlaceholderData && !record.isPlaceholderData) {
    whole.current = { row: row.data, record: record.data };
  }
  return {
    row: (isWithoutSchedule ? row.data : whole.current?.row) ?? null,
    record: whole.current?.record ?? null,
    isWithoutSchedule,
    error: row.error ?? record.error,
    retry: () => {
      void row.refetch();
      if (isKnown && row.data.has_schedule) void record.refetch();
    },
  };
}

async function prefetch(queryClient: QueryClient, runId: string, step: number): Promise<void> {
  await queryClient.prefetchQuery(stepOptions(runId, step));
  const row = queryClient.getQueryData(stepOptions(runId, step).queryKey);
  if (row?.has_schedule) await queryClient.prefetchQuery(scheduleOptions(runId, step));
}

/** The arrow keys go to the neighbours: they are there before the key is pressed. */
function usePrefetch(runId: string, step: number, newest: number): void {
  const queryClient = useQueryClient();
  useEffect(() => {
    // Not while the newest step is followed: its neighbour does not exist yet.
    if (step >= newest) return;
    for (const neighbour of [step - 1, step + 1].filter((one) => one >= 0 && one <= newest)) {
      void prefetch(queryClient, runId, neighbour);
    }
  }, [queryClient, runId, step, newest]);
}
