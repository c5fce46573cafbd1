/** What is wrong with the run, over its pages: why it failed, or since when nothing is heard of it. */
import { useResumeStep } from "@/api/checkpoints";
import { problemSentence } from "@/api/problem";
import { useRunWish } from "@/api/run-actions";
import type { Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { Button } from "@/components/button";
import { ButtonLink } from "@/components/button-link";
import { ForeignText } from "@/components/foreign-text";
import { silence } from "@/components/run-standing";
import { announce } from "@/lib/announcements";
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
      actions={<FailedActions run={run} />}
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

/** To the lines that say why, and on from the newest checkpoint. */
function FailedActions({ run }: { run: Run }) {
  const wish = useRunWish();
  const resumeStep = useResumeStep(run.id);
  const retry = (fromStep: number) =>
    wish.mutate(
      { runId: run.id, wish: { kind: "retry", fromStep } },
      { onError: (error) => announce(problemSentence(error)) },
    );
  return (
    <>
      <ButtonLink to="/runs/$runId/logs" params={{ runId: run.id }} search={{ level: "error" }}>
        Open log
      </ButtonLink>
      {resumeStep != null && run.kind === "managed" && (
        <Button disabled={wish.isPending} onClick={() => retry(resumeStep)}>
          Retry from {formatInteger(resumeStep)}
        </Button>
      )}
    </>
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
