/** The pages of one run, under its head and tabs. */
import { createRoute, Outlet, useMatch } from "@tanstack/react-router";
import { parseCheckpointsSearch } from "@/features/checkpoints/checkpoints-search";
import { parseConfigSearch } from "@/features/config/config-search";
import { parseEventsSearch } from "@/features/events/events-search";
import { parseLedgerSearch } from "@/features/ledger/ledger-search";
import { parseLogsSearch } from "@/features/logs/logs-search";
import { parseRolloutsSearch } from "@/features/rollouts/rollouts-search";
import { RunPage } from "@/features/run/run-page";
import { parseRunSearch } from "@/features/run/run-search";
import { RunShell } from "@/features/run-shell/run-shell";
import { SchedulePage } from "@/features/schedule/schedule-page";
import { parseScheduleSearch } from "@/features/schedule/schedule-search";
import { parseSystemSearch } from "@/features/system/system-search";
import { parseTimelineSearch } from "@/features/timeline/timeline-search";
import {
  CheckpointsPage,
  ConfigPage,
  EventsPage,
  LedgerPage,
  LogsPage,
  RolloutsPage,
  SystemPage,
  TimelinePage,
} from "./lazy-pages";
import { PageCode } from "./page-code";
import { IN_PLACE, rootRoute } from "./root-route";

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
          navigate({ search: (old) => parseRunSearch({ ...old, ...patch }), ...IN_PLACE })
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
          navigate({ search: (old) => parseScheduleSearch({ ...old, ...patch }), ...IN_PLACE })
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
            navigate({ search: (old) => parseTimelineSearch({ ...old, ...patch }), ...IN_PLACE })
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
            navigate({ search: (old) => parseRolloutsSearch({ ...old, ...patch }), ...IN_PLACE })
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
            navigate({ search: (old) => parseLogsSearch({ ...old, ...patch }), ...IN_PLACE })
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
            navigate({ search: (old) => parseConfigSearch({ ...old, ...patch }), ...IN_PLACE })
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
          setSearch={(search) => navigate({ search: parseEventsSearch({ ...search }), ...IN_PLACE })}
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
          setSearch={(search) => navigate({ search: parseCheckpointsSearch({ ...search }), ...IN_PLACE })}
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
          setSearch={(search) => navigate({ search: parseLedgerSearch({ ...search }), ...IN_PLACE })}
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
            navigate({ search: (old) => parseSystemSearch({ ...old, ...search }), ...IN_PLACE })
          }
        />
      </PageCode>
    );
  },
});

export const runRoutes = runRoute.addChildren([
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
]);
