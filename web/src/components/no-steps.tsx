/** Stands where the records of steps would: none is made yet, or none ever will be. */
import { isOver, type RunState } from "@/api/types";
import { EmptyState } from "./empty-state";

export function NoSteps({ state }: { state: RunState }) {
  return isOver(state) ? (
    <EmptyState title="No steps">The run ended before its first step.</EmptyState>
  ) : (
    <EmptyState title="No steps yet">The first step is recorded when its optimizer update ends.</EmptyState>
  );
}
