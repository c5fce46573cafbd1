/** The plan of the spec as it stands: verdict, figures, sizes over the run, and what to look at. */
import type { RunPlan } from "@/api/types";
import { DataTable, NumberCell } from "@/components/data-table";
import { Icon } from "@/components/icon";
import { Panel } from "@/components/panel";
import { ScrollRegion } from "@/components/scroll-region";
import { formatBytes } from "@/lib/bytes";
import { formatDuration } from "@/lib/durations";
import {
  formatCompact,
  formatCount,
  formatInteger,
  formatPercent,
  formatRange,
  MISSING,
} from "@/lib/numbers";
import styles from "./plan.module.css";
import { PlanChart } from "./plan-chart";
import { type Ends, endsOf, planLevels } from "./plan-levels";

export interface PlanViewProps {
  plan: RunPlan;
  tookMs: number;
  /** A newer text is being planned, or cannot be. */
  isOld: boolean;
}

export function PlanView({ plan, tookMs, isOld }: PlanViewProps) {
  return (
    <div className={styles.plan} data-old={isOld || undefined}>
      <section className={styles.main} aria-label="Plan">
        <p className={styles.verdict} role="status">
          <Icon name={isOld ? "clock" : "tick"} />
          <b>{isOld ? "The plan of the text before" : "This plan is possible"}</b>
          {plan.warnings.length > 0 && (
            <span className={styles.caution}>
              <Icon name="warning" />
              {formatCount(plan.warnings.length, "warning")} under Checks
            </span>
          )}
          <span>planned in {formatDuration(Math.max(1, tookMs) / 1000)}</span>
        </p>
        <Figures plan={plan} />
        <PlanChart plan={plan} />
      </section>
      <div className={styles.columns}>
        <Levels plan={plan} />
        <Remarks plan={plan} />
      </div>
    </div>
  );
}

function Figures({ plan }: { plan: RunPlan }) {
  const { maxima, steps } = plan;
  const logits = maxima.max_micro_batch_logits_bytes;
  const sizes = endsOf(steps.map(({ global_batch_size }) => global_batch_size));
  const cut = steps.flatMap(({ geometry }) => geometry ?? []);
  const microBatches = endsOf(cut.map(({ num_microbatches }) => num_microbatches));
  const numOver = cut.filter(({ num_over_cap }) => num_over_cap > 0).length;
  return (
    <dl className={styles.figures}>
      <Figure label={upTo("Steps", plan)} value={formatInteger(plan.num_steps)}>
        {formatInteger(plan.num_samples)} samples
      </Figure>
      <Figure label={upTo("Batch size", plan)} value={steps.length > 0 ? tight(sizes) : "–"}>
        {keptWords(plan)}
      </Figure>
      <Figure label="Micro-batches" value={cut.length > 0 ? tight(microBatches) : "–"}>
        per rank, on {formatCount(plan.dp, "rank")}
      </Figure>
      <Figure label="Idle, predicted" value={formatPercent(plan.mean_predicted_idle_frac)}>
        lower bound {formatPercent(plan.mean_idle_bound_frac)}
      </Figure>
      <Figure label="Largest micro-batch" value={formatInteger(maxima.max_micro_batch_tokens)}>
        {numOver > 0 ? `tokens, over the cap in ${formatCount(numOver, "step")}` : "tokens"}
      </Figure>
      <Figure label="Its logits" value={logits === null ? MISSING : formatBytes(logits)}>
        {logits === null ? "vocabulary unknown" : "fp32, one rank"}
      </Figure>
      <Figure label="Tokens, expected" value={formatCompact(plan.num_tokens_expected)}>
        longest sample {formatInteger(maxima.max_sample_tokens)}
      </Figure>
    </dl>
  );
}

/** A filter that leaves nobody knows how much makes steps smaller, or fewer. */
function upTo(label: string, { kept_frac }: RunPlan): string {
  return kept_frac === 1 ? `${label}, up to` : label;
}

function keptWords({ kept_frac, num_dropped }: RunPlan): string {
  if (num_dropped > 0) return `${formatCount(num_dropped, "rollout")} dropped`;
  if (kept_frac === null) return "none dropped";
  return kept_frac === 1 ? "before the filter" : `${formatPercent(kept_frac)} pass the filter`;
}

function Figure({ label, value, children }: { label: string; value: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <b>{value}</b>
        <small>{children}</small>
      </dd>
    </div>
  );
}

/** `64–512`. */
function tight({ least, most }: Ends): string {
  return least === most ? formatInteger(least) : `${formatInteger(least)}–${formatInteger(most)}`;
}

const LEVEL_COLUMNS = [
  { label: "Steps" },
  ...["Size", "mb / rank", "Idle", "Bound", "Dummies", "Over cap"].map((label) => ({
    label,
    isNumber: true,
  })),
];

function Levels({ plan }: { plan: RunPlan }) {
  const levels = planLevels(plan.steps);
  return (
    <Panel title="By level" headingLevel={3} aside="means of the steps that were scheduled">
      <ScrollRegion label="By level, table">
        <DataTable columns={LEVEL_COLUMNS} className={styles.levels}>
          <tbody>
            {levels.map((level) => (
              <tr key={level.first}>
                <th scope="row">{formatRange(level.first, level.last)}</th>
                <NumberCell>{tight(level.size)}</NumberCell>
                <NumberCell>{tight(level.microBatches)}</NumberCell>
                <NumberCell>{formatPercent(level.idle)}</NumberCell>
                <NumberCell>{formatPercent(level.bound)}</NumberCell>
                <NumberCell>{formatInteger(level.dummies)}</NumberCell>
                <NumberCell>{formatInteger(level.overCap)}</NumberCell>
              </tr>
            ))}
          </tbody>
        </DataTable>
      </ScrollRegion>
    </Panel>
  );
}

function Remarks({ plan }: { plan: RunPlan }) {
  return (
    <Panel title="Checks" headingLevel={3}>
      <ul className={styles.remarks}>
        {plan.warnings.map((text) => (
          <li key={text} className={styles.warning}>
            <Icon name="warning" />
            <bdi>{text}</bdi>
          </li>
        ))}
        {plan.warnings.length === 0 && (
          <li className={styles.fine}>
            <Icon name="tick" />
            Nothing looks unintended.
          </li>
        )}
      </ul>
      <h4 className={styles.assumed}>Taken for granted</h4>
      <ul className={styles.assumptions}>
        {plan.assumptions.map((text) => (
          <li key={text}>
            <bdi>{text}</bdi>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
