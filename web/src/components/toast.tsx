/** Shows and speaks the announcement of the moment. The live region stays mounted: a new one would not be spoken. */
import { useAnnouncement } from "@/lib/announcements";
import styles from "./toast.module.css";

export function Toast() {
  const message = useAnnouncement();
  return (
    <div className={styles.region} role="status" aria-live="polite">
      {message && <div className={styles.toast}>{message}</div>}
    </div>
  );
}
