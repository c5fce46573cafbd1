/** Shows and speaks the announcement of the moment, with what can be done about it: by its button or with `u`. The live
 * region stays mounted: a new one would not be spoken. */
import { type Announcement, takeAction, useAnnouncement } from "@/lib/announcements";
import { formatElapsed } from "@/lib/durations";
import { useShortcuts } from "@/lib/shortcuts";
import { useNow } from "@/lib/use-now";
import { Button } from "./button";
import styles from "./toast.module.css";

export function Toast() {
  const current = useAnnouncement();
  useShortcuts({ u: () => takeAction() });
  return (
    <div className={styles.region}>
      <div role="status" aria-live="polite" className={current?.action ? "sr-only" : undefined}>
        {current && <div className={styles.toast}>{spoken(current)}</div>}
      </div>
      {current?.action && (
        <div className={styles.toast}>
          {current.text} <Remaining endsAt={current.endsAt} />
          <Button icon="undo" onClick={() => takeAction()}>
            {current.action.label}
          </Button>
        </div>
      )}
    </div>
  );
}

function spoken({ text, action }: Announcement): string {
  return action ? `${text}. ${action.label} with the key u.` : text;
}

function Remaining({ endsAt }: { endsAt: number }) {
  const left = Math.max(0, Math.ceil((endsAt - useNow(1000)) / 1000));
  return <span className={styles.left}>{formatElapsed(Math.min(8, left))}</span>;
}
