/** What its state does not say, over the run's pages: why it failed or waits, since when nothing is heard of it, what it
 * left out. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { advisoriesOptions } from "@/api/advisories";
import { useResumeStep } from "@/api/checkpoints";
import { firstErrorOptions } from "@/api/logs";
import { problemSentence } from "@/api/problem";
import { useRunWish } from "@/api/run-actions";
import type { Advisory, Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { Button } from "@/components/button";
import { ButtonLink } from "@/components/button-link";
import { FoldedText } from "@/components/folded-text";
import { silence } from "@/components/run-standing";
import { announce } from "@/lib/announcements";
import { failureText } from "@/lib/failure-text";
import { formatInteger } from "@/lib/numbers";
import { capitalised, firstLine } from "@/lib/texts";
import { formatMoment } from "@/lib/times";
import { useNow } from "@/lib/use-now";
import styles from "./run-banner.module.css";

export function RunBanner({ run }: { run: Run }) {
  if (run.state === "failed") return <FailedBanner run={run} />;
  if (run.state === "lost") return <LostBanner run={run} />;
  if (run.state === "queued") return <QueuedBanner run={run} />;
  if (run.state === "succeeded" && run.reason) return <RemarkBanner run={run} remark={run.reason} />;
  return null;
}

function FailedBanner({ run }: { run: Run }) {
  const { said: cause, output } = failureText(run.reason ?? "");
  const where =
    run.num_steps > 0 ? `after step ${formatInteger(run.num_steps - 1)}` : "before its first step";
  return (
    <Banner
      kind="error"
      actions={<FailedActions run={run} />}
      detail={<WorstAdvisory runId={run.id} />}
      below={
        output && <FoldedText label={output.title} text={output.text} className={styles.output} opensAtEnd />
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

/** What costs time only ends no run. */
const COSTS_TIME: ReadonlySet<Advisory["kind"]> = new Set(["idle", "dummies", "padding", "slow_step"]);

/** What was odd before it failed: the cause is often there, and not in the words of the failure. */
function WorstAdvisory({ runId }: { runId: string }) {
  const { data } = useQuery(advisoriesOptions(runId));
  const worst = data?.items.find(({ severity, kind }) => severity !== "info" && !COSTS_TIME.has(kind));
  if (!worst) return null;
  const { step } = worst.target;
  return (
    <span className={styles.advisory} dir="auto">
      Noticed before, perhaps unrelated: {worst.title}. {worst.evidence}{" "}
      <Link to="/runs/$runId/timeline" params={{ runId }} search={step == null ? {} : { step }}>
        {step == null ? "All advisories" : `Advisories, at step ${formatInteger(step)}`}
      </Link>
    </span>
  );
}

/** `line`: where to begin; without one at the newest. Nothing is left out: what led to an error is often no error. */
function OpenLog({ runId, line }: { runId: string; line?: number | null | undefined }) {
  return (
    <ButtonLink to="/runs/$runId/logs" params={{ runId }} search={line == null ? {} : { line }}>
      Open log
    </ButtonLink>
  );
}

/** To the lines that say why, and on from the newest checkpoint. */
function FailedActions({ run }: { run: Run }) {
  const wish = useRunWish();
  const resumeStep = useResumeStep(run.id);
  const { data: errorLine } = useQuery(firstErrorOptions(run.id, run.attempt));
  const retry = (fromStep: number) =>
    wish.mutate(
      { runId: run.id, wish: { kind: "retry", fromStep } },
      { onError: (error) => announce(problemSentence(error)) },
    );
  return (
    <>
      <OpenLog runId={run.id} line={errorLine} />
      {resumeStep != null && run.kind === "managed" && (
        <Button disabled={wish.isPending} onClick={() => retry(resumeStep)}>
          Retry from {formatInteger(resumeStep)}
        </Button>
      )}
    </>
  );
}

/** What it waits for, in full: the list has little room for it. */
function QueuedBanner({ run }: { run: Run }) {
  return (
    <Banner kind="info" icon="clock">
      {run.attempt === 0 ? "Queued" : `Attempt ${formatInteger(run.attempt + 1)} is queued`}:{" "}
      <bdi>{run.reason ?? "it is the next to start, Ray is starting"}</bdi>
    </Banner>
  );
}

/** What its reader should know although it ended well; the ledger says where the rollouts went. */
function RemarkBanner({ run, remark }: { run: Run; remark: string }) {
  return (
    <Banner
      kind="info"
      icon="tick"
      actions={
        run.kind === "managed" && (
          <ButtonLink to="/runs/$runId/ledger" params={{ runId: run.id }}>
            Open ledger
          </ButtonLink>
        )
      }
    >
      <bdi>{capitalised(firstLine(remark))}</bdi>
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
      actions={<OpenLog runId={run.id} />}
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
