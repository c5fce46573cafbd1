/** Title, state, tags, what can be done, and the line of facts below. */
import { useState } from "react";
import { isOver, type Run } from "@/api/types";
import { Button } from "@/components/button";
import { ButtonLink } from "@/components/button-link";
import { Moment } from "@/components/moment";
import { RunDuration } from "@/components/run-standing";
import { StateBadge } from "@/components/state-badge";
import { Tag, tagText } from "@/components/tag";
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
      <ButtonLink to="/new" search={{ from: run.id }} icon="copy">
        Clone
      </ButtonLink>
      {isAsking && !isOver(run.state) && <StopDialog run={run} onClose={() => setIsAsking(false)} />}
    </div>
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
