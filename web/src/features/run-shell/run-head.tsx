/** Title, state, tags, what can be done, and the line of facts below. */
import { useNavigate } from "@tanstack/react-router";
import { isOver, type Run } from "@/api/types";
import { Button } from "@/components/button";
import type { IconName } from "@/components/icon";
import { Moment } from "@/components/moment";
import { actionsOf, type RunAction } from "@/components/run-actions/run-actions";
import { RunMenu } from "@/components/run-actions/run-menu";
import { useRunActions } from "@/components/run-actions/use-run-actions";
import { RunDuration, RunStanding } from "@/components/run-standing";
import { StateBadge } from "@/components/state-badge";
import { Tag, tagText } from "@/components/tag";
import { formatInteger } from "@/lib/numbers";
import styles from "./run-head.module.css";

const NUM_OPEN = 3;
const ICONS: Partial<Record<string, IconName>> = {
  pause: "pause",
  resume: "play",
  stop: "stop",
  clone: "copy",
  retry: "retry",
  archive: "archive",
  delete: "trash",
};

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

/** The two or three that are wanted most stand open; the menu has all. */
function Actions({ run }: { run: Run }) {
  const navigate = useNavigate();
  const { act, isPending, dialog } = useRunActions(run);
  const all = actionsOf(run);
  return (
    <div className={styles.actions}>
      {all.slice(0, NUM_OPEN).map((action) => (
        <Button
          key={action.label}
          className={styles.action}
          disabled={isPending}
          {...iconOf(action)}
          onClick={() => act(action)}
        >
          {action.label}
        </Button>
      ))}
      <RunMenu run={run} onDeleted={() => void navigate({ to: "/" })} />
      {dialog}
    </div>
  );
}

function iconOf({ wish }: RunAction): { icon?: IconName } {
  const kind = typeof wish === "object" ? wish.kind : wish;
  return ICONS[kind] ? { icon: ICONS[kind] } : {};
}

/** Before there are numbers, what it is at; of a queued run the banner tells it. */
function saysWhatItDoes(run: Run): boolean {
  return run.state === "starting" || (run.state === "running" && run.last === null && run.activity !== null);
}

function durationWords({ state }: Run): string {
  if (state === "lost") return "last sign after";
  if (state === "paused") return "under way for";
  return isOver(state) ? "ran for" : "running for";
}

function Facts({ run }: { run: Run }) {
  return (
    <div className={styles.facts}>
      {saysWhatItDoes(run) && (
        <span>
          <b>
            <RunStanding run={run} />
          </b>
        </span>
      )}
      <span>
        <b>{run.parallelism ?? "another framework"}</b>
      </span>
      {run.attempt > 0 && (
        <span>
          attempt <b>{formatInteger(run.attempt)}</b>
        </span>
      )}
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
          {durationWords(run)}{" "}
          <b>
            <RunDuration run={run} />
          </b>
        </span>
      )}
      <span className={`wide-only ${styles.id}`}>{run.id}</span>
    </div>
  );
}
