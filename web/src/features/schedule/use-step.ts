/** The record and the schedule of one step, with the old step's in view until both are there. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { ApiProblem } from "@/api/problem";
import { scheduleOptions, stepOptions } from "@/api/steps";
import type { StepRow, StepSchedule } from "@/api/types";

export interface ShownStep {
  row: StepRow | null;
  record: StepSchedule | null;
  error: Error | null;
  retry: () => void;
}

export function useStep(runId: string, step: number, newest: number): ShownStep {
  const row = useQuery(stepOptions(runId, step));
  const record = useQuery(scheduleOptions(runId, step));
  usePrefetch(runId, step, newest);
  const whole = useRef<{ row: StepRow; record: StepSchedule } | null>(null);
  // The two answers come apart; a grid of one step beside the figures of another would be wrong.
  if (row.data && record.data && !row.isPlaceholderData && !record.isPlaceholderData) {
    whole.current = { row: row.data, record: record.data };
  }
  const isWithoutSchedule = record.error instanceof ApiProblem && record.error.isMissing;
  return {
    row: (isWithoutSchedule && !row.isPlaceholderData ? row.data : whole.current?.row) ?? null,
    record: whole.current?.record ?? null,
    error: row.error ?? record.error,
    retry: () => {
      void row.refetch();
      void record.refetch();
    },
  };
}

/** The arrow keys go to the neighbours: they are there before the key is pressed. */
function usePrefetch(runId: string, step: number, newest: number): void {
  const queryClient = useQueryClient();
  useEffect(() => {
    // Not while the newest step is followed: its neighbour does not exist yet.
    if (step >= newest) return;
    for (const neighbour of [step - 1, step + 1].filter((one) => one >= 0 && one <= newest)) {
      void queryClient.prefetchQuery(stepOptions(runId, neighbour));
      void queryClient.prefetchQuery(scheduleOptions(runId, neighbour));
    }
  }, [queryClient, runId, step, newest]);
}
