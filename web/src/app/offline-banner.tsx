/** Over every page once it is stale: what is seen, what goes on without it, and the next try. */
import { useConnection } from "@/api/live/connection";
import { retryConnection } from "@/api/live/live";
import { Banner } from "@/components/banner";
import { Button } from "@/components/button";
import { NBSP } from "@/lib/numbers";
import { formatClock } from "@/lib/times";
import styles from "./offline-banner.module.css";

export function OfflineBanner() {
  const connection = useConnection();
  if (connection.kind !== "stale") return null;
  const trying =
    connection.retryInS === null ? "Trying now." : `Trying again in ${connection.retryInS}${NBSP}s.`;
  return (
    <div className={styles.place}>
      <Banner
        kind="warning"
        detail={`${trying} The run itself goes on; its records are kept and sent later.`}
        actions={<Button onClick={retryConnection}>Try now</Button>}
      >
        No connection to the server. You see what was known at {formatClock(connection.since)}.
      </Banner>
    </div>
  );
}
