/** Beside the grid: idle time against its bound, and what was counted. */
import type { StepRow } from "@/api/types";
import { Panel } from "@/components/panel";
import { formatDuration } from "@/lib/durations";
import { formatInteger, formatMetric, formatPercent } from "@/lib/numbers";
import styles from "./fact-panels.module.css";
import { booksSentence, idleSentence } from "./step-sentences";

export interface IdlePanelProps {
  step: StepRow;
  dpSize: number;
  /** The parallel layout in words: "dp 8, pp 2". */
  layout: string;
  barrierS: number;
}

export function IdlePanel({ step, dpSize, layout, barrierS }: IdlePanelProps) {
  const busy = 1 - step.measured_idle_frac;
  return (
    <Panel title="Idle" headingLevel={3} className={styles.panel}>
      <p className={styles.lead}>
        <b>{formatPercent(step.measured_idle_frac)}</b>
        <span>
          of {formatInteger(dpSize)} × {formatDuration(barrierS)} waits at the end of the step
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
    </Panel>
  );
}

export function CountsPanel({ step }: { step: StepRow }) {
  return (
    <Panel title="Counts" headingLevel={3} className={styles.panel}>
      <dl className={styles.facts}>
        <dt>global_batch_size</dt>
        <dd>{formatInteger(step.global_batch_size)}</dd>
        <dt>num_prompts</dt>
        <dd>{formatInteger(step.num_prompts)}</dd>
        <dt>num_rollouts</dt>
        <dd>{formatInteger(step.num_rollouts)}</dd>
        <dt>num_tokens</dt>
        <dd>{formatInteger(step.num_tokens)}</dd>
        <dt>num_loss_tokens</dt>
        <dd>{formatInteger(step.num_loss_tokens)}</dd>
        <dt>num_microbatches</dt>
        <dd>{formatInteger(step.num_microbatches)} per rank</dd>
        <dt>LR</dt>
        <dd>{formatMetric("lr", step.lr)}</dd>
        <dt>LR position, {step.lr_unit}</dt>
        <dd>
          {formatInteger(step.lr_position_before)} to {formatInteger(step.lr_position_after)}
        </dd>
      </dl>
      <p className={styles.sentence}>{booksSentence(step)}</p>
    </Panel>
  );
}
