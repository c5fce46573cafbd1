import type { ReactNode } from "react";

export interface RunShellProps {
  runId: string;
  children: ReactNode;
}

/** The head of a run's pages: title, state, stats, tabs. The pages render inside it. */
export function RunShell({ runId, children }: RunShellProps) {
  return (
    <>
      <h1>{runId}</h1>
      {children}
    </>
  );
}
