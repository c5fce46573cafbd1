/** The head of a run's pages: what it is, how it stands, its numbers, and the way between its pages. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ApiProblem, problemSentence } from "@/api/problem";
import { runOptions } from "@/api/runs";
import type { Run } from "@/api/types";
import { ButtonLink } from "@/components/button-link";
import { EmptyState } from "@/components/empty-state";
import { LoadingBars } from "@/components/loading-bars";
import { ProblemPanel } from "@/components/problem-panel";
import { useShortcuts } from "@/lib/shortcuts";
import { usePageTitle } from "@/lib/use-page-title";
import { RunBanner } from "./run-banner";
import { RunHead } from "./run-head";
import styles from "./run-shell.module.css";
import { RunStats } from "./run-stats";

const RETRY_S = 5;
const HEAD_ROWS = 3;

export type RunTab = "overview" | "schedule";

export interface RunShellProps {
  runId: string;
  tab: RunTab;
  children: ReactNode;
}

export function RunShell({ runId, tab, children }: RunShellProps) {
  const { data: run, error, refetch } = useQuery(runOptions(runId));
  usePageTitle(run?.name ?? "Run");
  if (run) {
    return (
      <>
        <section className={styles.head} aria-label="Run">
          <RunHead run={run} />
          {tab === "overview" && <RunStats run={run} />}
          <Tabs runId={runId} />
        </section>
        <main className={styles.page}>
          <RunBanner run={run} />
          {children}
        </main>
      </>
    );
  }
  return (
    <main className={styles.page}>
      {error ? (
        <Failed error={error} onRetry={refetch} />
      ) : (
        <LoadingBars rows={HEAD_ROWS} onRetry={refetch} />
      )}
    </main>
  );
}

function Failed({ error, onRetry }: { error: Error; onRetry: () => void }) {
  if (error instanceof ApiProblem && error.isMissing) {
    return (
      <EmptyState
        title="There is no such run"
        headingLevel={1}
        actions={<ButtonLink to="/">All runs</ButtonLink>}
      >
        It may have been deleted, or its address is not whole.
      </EmptyState>
    );
  }
  return (
    <ProblemPanel
      title="This run did not load"
      detail={problemSentence(error)}
      onRetry={onRetry}
      retryAfterS={RETRY_S}
      headingLevel={1}
    />
  );
}

function Tabs({ runId }: { runId: Run["id"] }) {
  const navigate = useNavigate();
  const params = { runId };
  useShortcuts({
    "[": () => navigate({ to: "/runs/$runId", params }),
    "]": () => navigate({ to: "/runs/$runId/schedule", params }),
  });
  return (
    <nav className={styles.tabs} aria-label="Run">
      <Link to="/runs/$runId" params={params} activeOptions={{ exact: true, includeSearch: false }}>
        Overview
      </Link>
      <Link to="/runs/$runId/schedule" params={params} activeOptions={{ includeSearch: false }}>
        Schedule
      </Link>
    </nav>
  );
}
