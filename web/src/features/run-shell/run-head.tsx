/** Title, state, tags, what can be done, and the line of facts below. */
import { useState } from "react";
import { problemSentence } from "@/api/problem";
import { useArchiveRun, useRetryRun } from "@/api/runs";
import { isOver, type Run } from "@/api/types";
import { Button } from "@/components/button";
import { ButtonLink } from "@/components/button-link";
import { Moment } from "@/components/moment";
import { RunDuration } from "@/components/run-standing";
import { StateBadge } from "@/components/state-badge";
import { Tag, tagText } from "@/components/tag";
import { announce } from "@/lib/announcements";
import { formatInteger } from "@/lib/numbers";
import styles from "./run-head.module.css";
import { StopDialog } from "./stop-dialog";

export function RunHead({ run }: { run: Run }) {
  return (
    <>
      <div className={styles.line}>
        <h1 className={styles.name} title={run.name}>
          <bdi>{run.name}</bdi>
        </h1>
        <StateBadge state={run.state} isPill />
        <span className={styles.tags}>
          {Object.entries(run.tags).map(([key, value]) => (
            <Tag key={key} title={tagText(key, value)}>
              {tagText(key, value)}
            </Tag>
          ))}
        </span>
        <Actions run={run} />
      </div>
      <Facts run={run} />
    </>
  );
}

function Actions({ run }: { run: Run }) {
  const [isAsking, setIsAsking] = useState(false);
  return (
    <div className={styles.actions}>
      {!isOver(run.state) && (
        <Button icon="stop" onClick={() => setIsAsking(true)}>
          {run.state === "stopping" ? "Kill" : "Stop"}
        </Button>
      )}
      {isOver(run.state) && <EndedActions run={run} />}
      <ButtonLink to="/new" search={{ from: run.id }} icon="copy">
        Clone
      </ButtonLink>
      {isAsking && !isOver(run.state) && <StopDialog run={run} onClose={() => setIsAsking(false)} />}
    </div>
  );
}

/** What can be done with a run that has ended. */
function EndedActions({ run }: { run: Run }) {
  const retry = useRetryRun(run.id);
  const archive = useArchiveRun(run.id);
  const isArchived = run.archived_at !== null;
  const tell = { onError: (error: Error) => announce(problemSentence(error)) };
  return (
    <>
      {run.state !== "succeeded" && (
        <Button disabled={retry.isPending} onClick={() => retry.mutate(undefined, tell)}>
          Retry run
        </Button>
      )}
      <Button disabled={archive.isPending} onClick={() => archive.mutate(!isArchived, tell)}>
        {isArchived ? "Take back from archive" : "Archive run"}
      </Button>
    </>
  );
}

function Facts({ run }: { run: Run }) {
  return (
    <div className={styles.facts}>
      <span>
        <b>{run.parallelism}</b>
      </span>
      <span>
        attempt <b>{formatInteger(run.attempt)}</b>
      </span>
      {run.started_at && (
        <span className="wide-only">
          started{" "}
          <b>
            <Moment at={run.started_at} />
          </b>
        </span>
      )}
      {run.started_at && (
        <span>
          {isOver(run.state) ? "ran for " : "running for "}
          <b>
            <RunDuration run={run} />
          </b>
        </span>
      )}
      <span className={`wide-only ${styles.id}`}>{run.id}</span>
    </div>
  );
}
