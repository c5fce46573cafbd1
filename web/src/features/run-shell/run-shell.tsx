/** The head of a run's pages: what it is, how it stands, its numbers, and the way between its pages. */
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { advisoriesOptions } from "@/api/advisories";
import { ApiProblem, problemSentence } from "@/api/problem";
import { runOptions } from "@/api/runs";
import { isOver, type Run } from "@/api/types";
import { Blank } from "@/components/blank";
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
/** Bars of the head while it loads, by whether its numbers come with it. */
const HEAD = { rows: 2, rowHeight: 29 };
const HEAD_WITH_STATS = { rows: 4, rowHeight: 35 };
const PAGE = { rows: 7, rowHeight: 44 };

export interface RunShellProps {
  runId: string;
  /** Whether its numbers stand in the head. */
  hasStats: boolean;
  children: ReactNode;
}

export function RunShell({ runId, hasStats, children }: RunShellProps) {
  const { data: run, error, refetch } = useQuery(runOptions(runId));
  // The overview begins with them: asked beside the run, they stand there when it is drawn and push nothing down.
  useQuery({
    ...advisoriesOptions(runId),
    enabled: hasStats && (!run || isOver(run.state)),
    notifyOnChangeProps: [],
  });
  usePageTitle(run?.name ?? "Run");
  if (run) {
    return (
      <>
        <section className={styles.head} aria-label="Run">
          <RunHead run={run} />
          {hasStats && <RunStats run={run} />}
          <Tabs runId={runId} />
        </section>
        <main className={styles.page}>
          <RunBanner run={run} />
          {children}
        </main>
      </>
    );
  }
  if (error) {
    return (
      <main className={styles.page}>
        <Blank>
          <Failed error={error} onRetry={refetch} />
        </Blank>
      </main>
    );
  }
  return (
    <>
      <section className={styles.head} aria-label="Run">
        <div className={styles.waiting} data-stats={hasStats || undefined}>
          <LoadingBars {...(hasStats ? HEAD_WITH_STATS : HEAD)} hasWords={false} />
        </div>
        <Tabs runId={runId} />
      </section>
      <main className={styles.page}>
        <Blank>
          <LoadingBars {...PAGE} onRetry={refetch} />
        </Blank>
      </main>
    </>
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

const TABS = [
  { to: "/runs/$runId", label: "Overview" },
  { to: "/runs/$runId/schedule", label: "Schedule" },
  { to: "/runs/$runId/timeline", label: "Timeline" },
  { to: "/runs/$runId/rollouts", label: "Rollouts" },
  { to: "/runs/$runId/logs", label: "Logs" },
  { to: "/runs/$runId/config", label: "Config" },
  { to: "/runs/$runId/checkpoints", label: "Checkpoints" },
  { to: "/runs/$runId/events", label: "Events" },
  { to: "/runs/$runId/ledger", label: "Ledger" },
  { to: "/runs/$runId/system", label: "System" },
] as const;

function Tabs({ runId }: { runId: Run["id"] }) {
  const navigate = useNavigate();
  const path = useLocation({ select: (location) => location.pathname });
  const params = { runId };
  const now = Math.max(
    0,
    TABS.findIndex(({ to }) => path === to.replace("$runId", runId)),
  );
  const go = (by: number) => {
    const tab = TABS[Math.min(TABS.length - 1, Math.max(0, now + by))];
    if (tab) navigate({ to: tab.to, params });
  };
  const nav = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the place of the tab that is open follows from `now`
  useEffect(() => {
    const [list, tab] = [nav.current, nav.current?.querySelector<HTMLElement>("[data-status=active]")];
    // On a narrow screen the list scrolls: the open tab stands in its middle, with its neighbours.
    if (list && tab) list.scrollLeft = tab.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
  }, [now]);
  useShortcuts({ "[": () => go(-1), "]": () => go(1) });
  return (
    <nav ref={nav} className={styles.tabs} aria-label="Run">
      {TABS.map(({ to, label }) => (
        <Link key={to} to={to} params={params} activeOptions={{ exact: true, includeSearch: false }}>
          {label}
        </Link>
      ))}
    </nav>
  );
}
