/** Beside the grid: idle time against its bound, and what was counted. */

import { useMemo } from "react";
import type { BatchDecision, Schedule, StepRow } from "@/api/types";
import { Panel } from "@/components/panel";
import { formatDuration } from "@/lib/durations";
import { formatInteger, formatMetric, formatPercent, formatRange, MISSING } from "@/lib/numbers";
import styles from "./fact-panels.module.css";
import { SampleMention } from "./sample-mention";
import { booksSentence, idleSentence, lastRankSentence } from "./step-sentences";

export interface IdlePanelProps {
  step: StepRow;
  dpSize: number;
  /** The parallel layout in words: "dp 8, pp 2". */
  layout: string;
  barrierS: number;
  /** Its stages wait for each other within the step, too. */
  isPipeline: boolean;
  schedule: Schedule;
  onShow: (sample: number) => void;
}

export function IdlePanel({ step, dpSize, layout, barrierS, isPipeline, schedule, onShow }: IdlePanelProps) {
  const last = useMemo(() => lastRankSentence(schedule), [schedule]);
  const idle = step.measured_idle_frac ?? 0;
  const busy = 1 - idle;
  return (
    <Panel title="Idle" headingLevel={3} className={styles.panel}>
      <p className={styles.lead}>
        <b>{formatPercent(step.measured_idle_frac)}</b>
        <span>
          of {formatInteger(dpSize)} × {formatDuration(barrierS)} waits{" "}
          {isPipeline ? "at both ends of the pipeline or for the slowest rank" : "at the end of the step"}
        </span>
      </p>
      <div
        className={styles.meter}
        role="img"
        aria-label={`Busy ${formatPercent(busy)}, idle ${formatPercent(step.measured_idle_frac)}`}
      >
        <i className={styles.busy} style={{ width: `${busy * 100}%` }} />
        <i className={styles.idle} />
      </div>
      <dl className={styles.facts}>
        <dt>Measured</dt>
        <dd>{formatPercent(step.measured_idle_frac)}</dd>
        <dt>Predicted</dt>
        <dd>{formatPercent(step.predicted_idle_frac)}</dd>
        <dt>Lower bound for {layout}</dt>
        <dd>{formatPercent(step.idle_bound_frac)}</dd>
      </dl>
      <p className={styles.sentence}>{idleSentence(step, layout)}</p>
      {last && (
        <p className={styles.sentence}>
          <SampleMention {...last} onShow={onShow} />
        </p>
      )}
    </Panel>
  );
}

/** What the noise scale proposed after this step, under `batch: adaptive`. */
export function DecisionPanel({ decision }: { decision: BatchDecision }) {
  const size = (value: number | null | undefined) =>
    value == null ? "all that is kept" : formatInteger(value);
  const changed = decision.size_after !== decision.size_before;
  return (
    <Panel title="Batch decision" headingLevel={3} aside={decision.mode} className={styles.panel}>
      <p className={styles.lead}>
        <b>{size(decision.size_after)}</b>
        <span>rollouts {changed ? `from ${size(decision.size_before)}` : "as before"}</span>
      </p>
      <dl className={styles.facts}>
        <dt>Noise scale, samples</dt>
        <dd>
          {decision.noise_scale == null ? "not known yet" : formatMetric("noise", decision.noise_scale)}
        </dd>
        <dt>Proposed, rollouts</dt>
        <dd>{decision.proposed_size == null ? "none" : formatInteger(decision.proposed_size)}</dd>
      </dl>
      <p className={styles.sentence}>
        <bdi>{decision.reason}</bdi>
      </p>
    </Panel>
  );
}

/** Told where there is something to tell. */
const OPTIONAL_COUNTS = ["num_dropped", "num_carried_in", "num_carried_out"] as const;

function orMissing(value: number | null, text: (value: number) => string): string {
  return value === null ? MISSING : text(value);
}

export function CountsPanel({ step }: { step: StepRow }) {
  const counts: [string, string][] = [
    ["global_batch_size", formatInteger(step.global_batch_size)],
    ["num_prompts", formatInteger(step.num_prompts)],
    ["num_rollouts", formatInteger(step.num_rollouts)],
    ["num_tokens", formatInteger(step.num_tokens)],
    ["num_loss_tokens", formatInteger(step.num_loss_tokens)],
    ["num_microbatches", orMissing(step.num_microbatches, (count) => `${formatInteger(count)} per rank`)],
    ["padding_frac", formatPercent(step.padding_frac)],
    ...OPTIONAL_COUNTS.filter((name) => (step[name] ?? 0) > 0).map((name): [string, string] => [
      name,
      formatInteger(step[name]),
    ]),
    ["LR", formatMetric("lr", step.lr)],
    [
      step.lr_unit === null ? "LR position" : `LR position, ${step.lr_unit}`,
      orMissing(step.lr_position_before, (before) => formatRange(before, step.lr_position_after ?? before)),
    ],
  ];
  return (
    <Panel title="Counts" headingLevel={3} className={styles.panel}>
      <dl className={styles.counts}>
        {counts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p className={styles.sentence}>{booksSentence(step)}</p>
    </Panel>
  );
}
