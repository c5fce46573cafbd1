/** The pages and their addresses. View state is the search part of the URL, parsed by the feature that owns it. */
import { createRootRoute, createRoute, createRouter, Outlet, useMatch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { parseCheckpointsSearch } from "@/features/checkpoints/checkpoints-search";
import { parseCompareSearch } from "@/features/compare/compare-search";
import { parseConfigSearch } from "@/features/config/config-search";
import { parseEventsSearch } from "@/features/events/events-search";
import { parseLedgerSearch } from "@/features/ledger/ledger-search";
import { parseLogsSearch } from "@/features/logs/logs-search";
import { parseNewRunSearch } from "@/features/new-run/new-run-search";
import { parseRolloutsSearch } from "@/features/rollouts/rollouts-search";
import { RunPage } from "@/features/run/run-page";
import { parseRunSearch } from "@/features/run/run-search";
import { RunShell } from "@/features/run-shell/run-shell";
import { RunsPage } from "@/features/runs/runs-page";
import { parseRunsSearch } from "@/features/runs/runs-search";
import { SchedulePage } from "@/features/schedule/schedule-page";
import { parseScheduleSearch } from "@/features/schedule/schedule-search";
import { parseSystemSearch } from "@/features/system/system-search";
import { parseTimelineSearch } from "@/features/timeline/timeline-search";
import { PageCode } from "./page-code";
import { PageMissing, Root } from "./root";

const NewRunPage = lazy(async () => {
  const { NewRunPage: page } = await import("@/features/new-run/new-run-page");
  return { default: page };
});

const ConfigPage = lazy(async () => {
  const { ConfigPage: page } = await import("@/features/config/config-page");
  return { default: page };
});

const EventsPage = lazy(async () => {
  const { EventsPage: page } = await import("@/features/events/events-page");
  return { default: page };
});

const ComparePage = lazy(async () => {
  const { ComparePage: page } = await import("@/features/compare/compare-page");
  return { default: page };
});

const TimelinePage = lazy(async () => {
  const { TimelinePage: page } = await import("@/features/timeline/timeline-page");
  return { default: page };
});

const RolloutsPage = lazy(async () => {
  const { RolloutsPage: page } = await import("@/features/rollouts/rollouts-page");
  return { default: page };
});

const LogsPage = lazy(async () => {
  const { LogsPage: page } = await import("@/features/logs/logs-page");
  return { default: page };
});

const CheckpointsPage = lazy(async () => {
  const { CheckpointsPage: page } = await import("@/features/checkpoints/checkpoints-page");
  return { default: page };
});

const LedgerPage = lazy(async () => {
  const { LedgerPage: page } = await import("@/features/ledger/ledger-page");
  return { default: page };
});

const SystemPage = lazy(async () => {
  const { SystemPage: page } = await import("@/features/system/system-page");
  return { default: page };
});

const rootRoute = createRootRoute({ component: Root, notFoundComponent: PageMissing });

const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  validateSearch: parseRunsSearch,
  component: function RunsRoute() {
    const navigate = runsRoute.useNavigate();
    return (
      <RunsPage
        search={runsRoute.useSearch()}
        setSearch={(search) =>
          navigate({ search: parseRunsSearch({ ...search }), replace: true, resetScroll: false })
        }
      />
    );
  },
});

const compareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/compare",
  validateSearch: parseCompareSearch,
  component: function CompareRoute() {
    const navigate = compareRoute.useNavigate();
    return (
      <Suspense>
        <ComparePage
          search={compareRoute.useSearch()}
          setSearch={(patch) =>
            navigate({
              search: (old) => parseCompareSearch({ ...old, ...patch }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      </Suspense>
    );
  },
});

const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs/$runId",
  component: function RunRoute() {
    const { runId } = runRoute.useParams();
    const isOverview = useMatch({ from: "/runs/$runId/", shouldThrow: false }) !== undefined;
    return (
      <RunShell runId={runId} hasStats={isOverview}>
        <Outlet />
      </RunShell>
    );
  },
});

const overviewRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/",
  validateSearch: parseRunSearch,
  component: function OverviewRoute() {
    const { runId } = overviewRoute.useParams();
    const navigate = overviewRoute.useNavigate();
    return (
      <RunPage
        runId={runId}
        search={overviewRoute.useSearch()}
        setSearch={(patch) =>
          navigate({
            search: (old) => parseRunSearch({ ...old, ...patch }),
            replace: true,
            resetScroll: false,
          })
        }
      />
    );
  },
});

const scheduleRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/schedule",
  validateSearch: parseScheduleSearch,
  component: function ScheduleRoute() {
    const { runId } = scheduleRoute.useParams();
    const navigate = scheduleRoute.useNavigate();
    return (
      <SchedulePage
        runId={runId}
        search={scheduleRoute.useSearch()}
        setSearch={(patch) =>
          navigate({
            search: (old) => parseScheduleSearch({ ...old, ...patch }),
            replace: true,
            resetScroll: false,
          })
        }
      />
    );
  },
});

const timelineRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/timeline",
  validateSearch: parseTimelineSearch,
  component: function TimelineRoute() {
    const { runId } = timelineRoute.useParams();
    const navigate = timelineRoute.useNavigate();
    return (
      <PageCode>
        <TimelinePage
          key={runId}
          runId={runId}
          search={timelineRoute.useSearch()}
          setSearch={(patch) =>
            navigate({
              search: (old) => parseTimelineSearch({ ...old, ...patch }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      </PageCode>
    );
  },
});

const rolloutsRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/rollouts",
  validateSearch: parseRolloutsSearch,
  component: function RolloutsRoute() {
    const { runId } = rolloutsRoute.useParams();
    const navigate = rolloutsRoute.useNavigate();
    return (
      <PageCode>
        <RolloutsPage
          key={runId}
          runId={runId}
          search={rolloutsRoute.useSearch()}
          setSearch={(patch) =>
            navigate({
              search: (old) => parseRolloutsSearch({ ...old, ...patch }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      </PageCode>
    );
  },
});

const logsRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/logs",
  validateSearch: parseLogsSearch,
  component: function LogsRoute() {
    const { runId } = logsRoute.useParams();
    const navigate = logsRoute.useNavigate();
    return (
      <PageCode>
        <LogsPage
          key={runId}
          runId={runId}
          search={logsRoute.useSearch()}
          setSearch={(patch) =>
            navigate({
              search: (old) => parseLogsSearch({ ...old, ...patch }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      </PageCode>
    );
  },
});

const configRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/config",
  validateSearch: parseConfigSearch,
  component: function ConfigRoute() {
    const { runId } = configRoute.useParams();
    const navigate = configRoute.useNavigate();
    return (
      <PageCode>
        <ConfigPage
          runId={runId}
          search={configRoute.useSearch()}
          setSearch={(patch) =>
            navigate({
              search: (old) => parseConfigSearch({ ...old, ...patch }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      </PageCode>
    );
  },
});

const eventsRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/events",
  validateSearch: parseEventsSearch,
  component: function EventsRoute() {
    const { runId } = eventsRoute.useParams();
    const navigate = eventsRoute.useNavigate();
    return (
      <PageCode>
        <EventsPage
          runId={runId}
          search={eventsRoute.useSearch()}
          setSearch={(search) =>
            navigate({ search: parseEventsSearch({ ...search }), replace: true, resetScroll: false })
          }
        />
      </PageCode>
    );
  },
});

const checkpointsRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/checkpoints",
  validateSearch: parseCheckpointsSearch,
  component: function CheckpointsRoute() {
    const { runId } = checkpointsRoute.useParams();
    const navigate = checkpointsRoute.useNavigate();
    return (
      <PageCode>
        <CheckpointsPage
          runId={runId}
          search={checkpointsRoute.useSearch()}
          setSearch={(search) =>
            navigate({ search: parseCheckpointsSearch({ ...search }), replace: true, resetScroll: false })
          }
        />
      </PageCode>
    );
  },
});

const ledgerRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/ledger",
  validateSearch: parseLedgerSearch,
  component: function LedgerRoute() {
    const { runId } = ledgerRoute.useParams();
    const navigate = ledgerRoute.useNavigate();
    return (
      <PageCode>
        <LedgerPage
          runId={runId}
          search={ledgerRoute.useSearch()}
          setSearch={(search) =>
            navigate({ search: parseLedgerSearch({ ...search }), replace: true, resetScroll: false })
          }
        />
      </PageCode>
    );
  },
});

const systemRoute = createRoute({
  getParentRoute: () => runRoute,
  path: "/system",
  validateSearch: parseSystemSearch,
  component: function SystemRoute() {
    const { runId } = systemRoute.useParams();
    const navigate = systemRoute.useNavigate();
    return (
      <PageCode>
        <SystemPage
          runId={runId}
          search={systemRoute.useSearch()}
          setSearch={(search) =>
            navigate({
              search: (old) => parseSystemSearch({ ...old, ...search }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      </PageCode>
    );
  },
});

const newRunRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/new",
  validateSearch: parseNewRunSearch,
  component: function NewRunRoute() {
    const { example, from, ...changes } = newRunRoute.useSearch();
    // Its editor is loaded with the page, not with the list.
    return (
      <Suspense>
        <NewRunPage example={example} from={from} changes={changes} />
      </Suspense>
    );
  },
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    runsRoute,
    newRunRoute,
    compareRoute,
    runRoute.addChildren([
      overviewRoute,
      scheduleRoute,
      timelineRoute,
      rolloutsRoute,
      logsRoute,
      configRoute,
      checkpointsRoute,
      eventsRoute,
      ledgerRoute,
      systemRoute,
    ]),
  ]),
  scrollRestoration: true,
  // What a page does not know in its address, or not so, falls away.
  search: { strict: true },
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
