/** How fresh the page is: Live, Reconnecting, or Stale since a moment. */
import { type Connection, useConnection } from "@/api/live/connection";
import { Icon } from "@/components/icon";
import { classNames } from "@/lib/class-names";
import { formatClock } from "@/lib/times";
import styles from "./live-state.module.css";

export function LiveState() {
  const connection = useConnection();
  return (
    <span className={classNames(styles.state, connection.kind !== "live" && styles.broken)} role="status">
      <Mark connection={connection} />
    </span>
  );
}

function Mark({ connection }: { connection: Connection }) {
  switch (connection.kind) {
    case "live":
      return (
        <>
          <i className={styles.dot} />
          Live
        </>
      );
    case "reconnecting":
      return (
        <>
          <Icon name="clock" size={14} />
          Reconnecting
        </>
      );
    case "stale":
      return (
        <>
          <Icon name="warning" size={14} />
          Stale since {formatClock(connection.since)}
        </>
      );
  }
}
