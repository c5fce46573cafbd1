/** The frame of every page. What is signed out sees nothing else. */
import { Outlet, useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { useConnection } from "@/api/live/connection";
import { useIsSignedOut } from "@/api/session";
import { ButtonLink } from "@/components/button-link";
import { EmptyState } from "@/components/empty-state";
import { Toast } from "@/components/toast";
import { followSequences, useShortcuts } from "@/lib/shortcuts";
import { Logo } from "./logo";
import { OfflineBanner } from "./offline-banner";
import styles from "./root.module.css";
import { showFocused } from "./show-focused";
import { TopBar } from "./top-bar";

export function Root() {
  const isSignedOut = useIsSignedOut();
  const navigate = useNavigate();
  useEffect(followSequences, []);
  useEffect(showFocused, []);
  useShortcuts({
    "g r": () => navigate({ to: "/" }),
    "g n": () => navigate({ to: "/new" }),
    "g c": () => navigate({ to: "/compare" }),
  });
  if (isSignedOut) return <SignedOut />;
  return (
    <>
      <TopBar />
      <OfflineBanner />
      <Freshness>
        <Outlet />
      </Freshness>
      <Toast />
    </>
  );
}

/** Values that are no longer true keep their place, in a fainter ink. */
function Freshness({ children }: { children: React.ReactNode }) {
  const isStale = useConnection().kind === "stale";
  return (
    <div className={styles.page} data-stale={isStale || undefined}>
      {children}
    </div>
  );
}

function SignedOut() {
  return (
    <main className={styles.centre}>
      <p className={styles.brand}>
        <Logo /> Swell
      </p>
      <EmptyState title="This browser is not signed in" headingLevel={1}>
        Open the login link that <code>swell up</code> prints on the server’s machine. It works once.
      </EmptyState>
    </main>
  );
}

export function PageMissing() {
  return (
    <main className={styles.centre}>
      <EmptyState
        title="There is no such page"
        headingLevel={1}
        actions={<ButtonLink to="/">All runs</ButtonLink>}
      >
        Nothing of Swell lives at this address.
      </EmptyState>
    </main>
  );
}
