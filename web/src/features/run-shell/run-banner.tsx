/** What is wrong with the run, over its pages: why it failed, or since when nothing is heard of it. */
import type { Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { ForeignText } from "@/components/foreign-text";
import { silence } from "@/components/run-standing";
import { formatInteger } from "@/lib/numbers";
import { firstLine } from "@/lib/texts";
import { formatMoment } from "@/lib/times";
import { useNow } from "@/lib/use-now";
import styles from "./run-banner.module.css";

export function RunBanner({ run }: { run: Run }) {
  if (run.state === "failed") return <FailedBanner run={run} />;
  if (run.state === "lost") return <LostBanner run={run} />;
  return null;
}

function FailedBanner({ run }: { run: Run }) {
  const reason = run.reason ?? "";
  const cause = firstLine(reason);
  const traceback = reason.slice(reason.indexOf(cause) + cause.length).trim();
  const where = run.num_steps > 0 ? `at step ${formatInteger(run.num_steps)}` : "before its first step";
  return (
    <Banner
      kind="error"
      detail={
        traceback && (
          <details className={styles.traceback}>
            <summary>First traceback</summary>
            <ForeignText text={traceback} />
          </details>
        )
      }
    >
      Run failed {where}
      {cause && (
        <>
          : <bdi>{cause}</bdi>
        </>
      )}
    </Banner>
  );
}

function LostBanner({ run }: { run: Run }) {
  const nowMs = useNow(1000);
  const heardAt = run.last_heartbeat_at && formatMoment(new Date(run.last_heartbeat_at), new Date(nowMs));
  return (
    <Banner
      kind="warning"
      icon="clock"
      detail={
        heardAt && (
          <>
            Last sign: <bdi>{run.activity ?? "heartbeat"}</bdi> at {heardAt}.
          </>
        )
      }
    >
      {silence(run, nowMs)}. The run is marked lost and comes back if attempt {formatInteger(run.attempt)}{" "}
      reports.
    </Banner>
  );
}
