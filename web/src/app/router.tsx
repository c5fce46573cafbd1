/** The pages and their addresses. View state is the search part of the URL, parsed by the feature that owns it. */
import { createRoute, createRouter } from "@tanstack/react-router";
import { Suspense } from "react";
import { parseCompareSearch } from "@/features/compare/compare-search";
import { parseNewRunSearch } from "@/features/new-run/new-run-search";
import { RunsPage } from "@/features/runs/runs-page";
import { parseRunsSearch } from "@/features/runs/runs-search";
import { ComparePage, NewRunPage } from "./lazy-pages";
import { IN_PLACE, rootRoute } from "./root-route";
import { runRoutes } from "./run-routes";

const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  validateSearch: parseRunsSearch,
  component: function RunsRoute() {
    const navigate = runsRoute.useNavigate();
    return (
      <RunsPage
        search={runsRoute.useSearch()}
        setSearch={(search) => navigate({ search: parseRunsSearch({ ...search }), ...IN_PLACE })}
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
            navigate({ search: (old) => parseCompareSearch({ ...old, ...patch }), ...IN_PLACE })
          }
        />
      </Suspense>
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
  routeTree: rootRoute.addChildren([runsRoute, newRunRoute, compareRoute, runRoutes]),
  scrollRestoration: true,
  // What a page does not know in its address, or not so, falls away.
  search: { strict: true },
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
