/** What every address is under, and how a page writes its view into its own. */
import { createRootRoute } from "@tanstack/react-router";
import { PageMissing, Root } from "./root";

export const rootRoute = createRootRoute({ component: Root, notFoundComponent: PageMissing });

/** A view that changes is no new page: Back leaves it, and what is seen stays where it is. */
export const IN_PLACE = { replace: true, resetScroll: false } as const;
