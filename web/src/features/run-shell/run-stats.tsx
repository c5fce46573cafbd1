/** The run's numbers, each in its fixed place. */
import type { ReactNode } from "react";
import { secondsLeft } from "@/api/live/pace";
import { isOver, type LastStep, type Run, type RunState } from "@/api/types";
import { MetricText } from "@/components/metric-text";
import { ProgressBar } from "@/components/progress-bar";
import { RunDuration, runStanding } from "@/components/run-standing";
import { formatDuration, formatElapsed } from "@/lib/durations";
import { formatCount, formatInteger, formatPercent, MISSING } from "@/lib/numbers";
import { formatClockMinutes, formatMoment } from "@/lib/times";
import { useNow } from "@/lib/use-now";
import { RewardTrend } from "./reward-trend";
import styles from "./run-stats.module.css";

export function RunStats({ run }: { run: Run }) {
  const last = run.last;
  // Another framework need not tell what it did, nor how long it took.
  const isManaged = run.kind === "managed";
  const hasTime = last !== null && (isManaged || last.step_s > 0);
  return (
    <dl className={styles.stats}>
      <Steps run={run} />
      <Stat label="Batch size" unit="samples" note={last && keptPrompts(last, run)}>
        {last && formatInteger(last.global_batch_size)}
      </Stat>
      <Stat
        label="Reward"
        note={last && (last.reward === null ? isManaged && "supervised step" : <RewardTrend run={run} />)}
      >
        <MetricText name="reward" value={last?.reward} />
      </Stat>
      <Stat label="Loss" note={last?.loss_aggregation && `${last.loss_aggregation}, certified`}>
        <MetricText name="loss" value={last?.loss} />
      </Stat>
      <Stat
        label="Tokens/s"
        note={last?.num_tokens != null && `${formatInteger(last.num_tokens)} tokens in this step`}
      >
        <MetricText name="tokens_per_s" value={last?.tokens_per_s} />
      </Stat>
      <Stat label="Idle" note={last && idleNote(last)}>
        {last && last.measured_idle_frac !== null && formatPercent(last.measured_idle_frac)}
      </Stat>
      <Stat label="Step time" note={isManaged && last && "generation included"}>
        {hasTime && formatDuration(last.step_s)}
      </Stat>
      {isOver(run.state) ? <Ended run={run} /> : <TimeLeft run={run} />}
    </dl>
  );
}

interface StatProps {
  label: string;
  unit?: string;
  note?: ReactNode;
  children: ReactNode;
}

function Stat({ label, unit, note, children }: StatProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd className={styles.value}>
        {children || <span className={styles.missing}>{MISSING}</span>}
        {unit && children && <small>{unit}</small>}
      </dd>
      <dd className={styles.note}>{note}</dd>
    </div>
  );
}

function Steps({ run }: { run: Run }) {
  const total = run.total_steps;
  return (
    <Stat
      label="Steps"
      note={
        total !== null &&
        run.state !== "succeeded" && (
          <ProgressBar fraction={run.num_steps / total} isMoving={run.state === "running"} label="Steps" />
        )
      }
    >
      {formatInteger(run.num_steps)}
      {total !== null && <small>/ {formatInteger(total)}</small>}
    </Stat>
  );
}

/** Of an iteration that makes one step, the prompts that are not in it were filtered. */
function keptPrompts(last: LastStep, run: Run): string {
  if (last.num_prompts === null) return "";
  const prompts = formatCount(last.num_prompts, "prompt");
  if (!run.spec) return prompts;
  const asked = run.spec.data.rollout_batch_size;
  const isWholeIteration = run.spec.batch.type === "all" && last.reward !== null && last.num_prompts <= asked;
  return isWholeIteration ? `${prompts} of ${formatInteger(asked)} kept` : prompts;
}

function idleNote(last: LastStep): string {
  if (last.predicted_idle_frac === null) return "";
  return `plan ${formatPercent(last.predicted_idle_frac)}, bound ${formatPercent(last.idle_bound_frac)}`;
}

/** Of these a few words say why no time is known. */
const STANDS: ReadonlySet<RunState> = new Set(["pausing", "paused", "stopping"]);

function TimeLeft({ run }: { run: Run }) {
  const nowMs = useNow(10_000);
  const left = secondsLeft(run);
  const end = left === null ? null : formatClockMinutes(new Date(nowMs + left * 1000));
  const stands = STANDS.has(run.state) && runStanding(run, nowMs);
  return (
    <Stat label="Time left" note={end ? `ends about ${end}` : stands}>
      {left === null ? null : formatElapsed(left)}
    </Stat>
  );
}

function Ended({ run }: { run: Run }) {
  const nowMs = useNow(60_000);
  return (
    <Stat
      label="Duration"
      note={run.ended_at && `ended ${formatMoment(new Date(run.ended_at), new Date(nowMs))}`}
    >
      <RunDuration run={run} />
    </Stat>
  );
}
