/** One run: a row of the table, a card where the screen is narrow. */
import { Link, useNavigate } from "@tanstack/react-router";
import { type MouseEvent, memo } from "react";
import { isOver, type RunSummary } from "@/api/types";
import { MetricText } from "@/components/metric-text";
import { Moment } from "@/components/moment";
import { ProgressBar } from "@/components/progress-bar";
import { RunMenu } from "@/components/run-actions/run-menu";
import { RunDuration, RunStanding } from "@/components/run-standing";
import { Sparkline } from "@/components/sparkline";
import { StateBadge } from "@/components/state-badge";
import { Tag, tagText } from "@/components/tag";
import { classNames } from "@/lib/class-names";
import { formatInteger, MISSING } from "@/lib/numbers";
import styles from "./run-row.module.css";

export interface RunRowProps {
  run: RunSummary;
  /** Its place in the whole list, and what learns its height. */
  index: number;
  measure: (row: HTMLTableRowElement | null) => void;
  isSelected: boolean;
  onSelect: (id: string) => void;
  onTag: (tag: string) => void;
}

export const RunRow = memo(function RunRow({
  run,
  index,
  measure,
  isSelected,
  onSelect,
  onTag,
}: RunRowProps) {
  const navigate = useNavigate();
  const open = (event: MouseEvent) => {
    // A click on the name is the link's own, and a drag over text is a selection.
    if (event.defaultPrevented || (event.target as HTMLElement).closest("label, button, [popover], dialog"))
      return;
    if (getSelection()?.isCollapsed === false) return;
    navigate({ to: "/runs/$runId", params: { runId: run.id } });
  };
  return (
    // The link in it has the keyboard; the row only makes it a larger target.
    <tr
      className={classNames(styles.row, run.last === null && styles.withoutSteps)}
      onClick={open}
      data-run={run.id}
      data-index={index}
      aria-rowindex={index + 2}
      ref={measure}
      data-selected={isSelected || undefined}
    >
      <td className={styles.box}>
        <label>
          <input
            type="checkbox"
            checked={isSelected}
            aria-label={`Select ${run.name}`}
            onClick={(event) => event.stopPropagation()}
            onChange={() => onSelect(run.id)}
          />
        </label>
      </td>
      <td className={styles.state}>
        <StateBadge state={run.state} isShapeOnlyWhenNarrow />
      </td>
      <td className={styles.name}>
        <div className={styles.nameAndTags}>
          <Link to="/runs/$runId" params={{ runId: run.id }} className={styles.link} title={run.name}>
            <bdi>{run.name}</bdi>
          </Link>
          <Tags tags={run.tags} onTag={onTag} />
        </div>
      </td>
      <Figures run={run} />
      <td className={styles.menu}>
        <RunMenu run={run} />
      </td>
    </tr>
  );
});

/** What its steps have come to, and when. */
function Figures({ run }: { run: RunSummary }) {
  return (
    <>
      <td className={styles.policy} data-missing={run.batch_policy === null || undefined}>
        {run.batch_policy ?? MISSING}
      </td>
      <td className={styles.spark}>
        {run.last && (
          <Sparkline values={run.batch_sizes} isMuted={isOver(run.state) || run.state === "queued"} />
        )}
      </td>
      <td className={styles.batch} data-missing={run.last === null || undefined}>
        {formatInteger(run.last?.global_batch_size)}
      </td>
      <td className={styles.progress}>
        <Progress run={run} />
      </td>
      <td className={styles.reward}>
        <MetricText name="reward" value={run.last?.reward} />
      </td>
      <td className={styles.loss}>
        <MetricText name="loss" value={run.last?.loss} />
      </td>
      <td className={styles.tokens}>
        <MetricText name="tokens_per_s" value={run.last?.tokens_per_s} isCompact />
      </td>
      <td className={styles.started} data-missing={run.started_at === null || undefined}>
        {run.started_at === null ? MISSING : <Moment at={run.started_at} as="ago" />}
      </td>
      <td className={styles.duration} data-missing={run.started_at === null || undefined}>
        <RunDuration run={run} />
      </td>
    </>
  );
}

/** A tag filters the list by itself. */
function Tags({ tags, onTag }: { tags: RunSummary["tags"]; onTag: (tag: string) => void }) {
  const [first, ...rest] = Object.entries(tags);
  if (first === undefined) return null;
  const [key, value] = first;
  const others = rest.map(([otherKey, otherValue]) => tagText(otherKey, otherValue));
  return (
    <span className={styles.tags}>
      <button
        type="button"
        className={styles.tagButton}
        title={`Only runs with ${tagText(key, value)}`}
        onClick={() => onTag(`${key}=${value}`)}
      >
        <Tag className={styles.tag} title={tagText(key, value)}>
          {tagText(key, value)}
        </Tag>
      </button>
      {others.length > 0 && <Tag className={styles.tag} title={others.join(", ")}>{`+${others.length}`}</Tag>}
    </span>
  );
}

function Progress({ run }: { run: RunSummary }) {
  const stands = run.state === "failed" || run.state === "lost";
  return (
    <>
      <div className={styles.progressWords}>
        <span className={styles.steps}>
          {formatInteger(run.num_steps)}
          {run.total_steps !== null && (
            <span className={styles.total}> / {formatInteger(run.total_steps)}</span>
          )}
        </span>
        <span className={classNames(styles.standing, stands && styles.bad)} title={run.reason ?? undefined}>
          <RunStanding run={run} />
        </span>
      </div>
      {run.total_steps !== null && run.state !== "succeeded" && (
        <ProgressBar
          fraction={run.num_steps / run.total_steps}
          isMoving={run.state === "running"}
          label={`Steps of ${run.name}`}
        />
      )}
    </>
  );
}
