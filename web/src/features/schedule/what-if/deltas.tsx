/** What would change, as `new from old change`; green only where it is better, and only on time. */
import type { WhatIf } from "@/api/types";
import { formatDuration } from "@/lib/durations";
import { formatDelta, formatInteger, formatPercent } from "@/lib/numbers";
import { numRanks } from "./choices";
import styles from "./what-if.module.css";

interface Delta {
  label: string;
  is: string;
  was: string;
  change?: { text: string; isBetter: boolean };
  /** What the step that ran took; it stands apart, because estimates average what ranks took. */
  measured?: string;
}

/** Below this the change of time is rounding. */
const SEEN = 0.0005;

/** `tp`: of both, because it cannot be asked. */
export function deltasOf(answer: WhatIf, tp: number): Delta[] {
  const { asked_figures: asked, ran_figures: ran, ran_measured: measured, change, ...both } = answer;
  const time = (seconds: number | null, cost: number) =>
    seconds === null ? formatInteger(Math.round(cost)) : formatDuration(seconds);
  const onAll = ({ predicted_s, makespan }: WhatIf["ran_figures"], devices: number) =>
    time(predicted_s === null ? null : predicted_s * devices, makespan * devices);
  const perRank = (tokens: number, cp: number) => formatInteger(Math.ceil(tokens / cp));
  return [
    {
      label: ran.predicted_s === null ? "Step, estimated cost" : "Step, estimated",
      is: time(asked.predicted_s, asked.makespan),
      was: time(ran.predicted_s, ran.makespan),
      ...(Math.abs(change.makespan_frac) >= SEEN && {
        change: {
          text: formatDelta("_frac", change.makespan_frac),
          isBetter: change.makespan_frac < 0,
        },
      }),
      ...(measured && { measured: formatDuration(measured.makespan_s) }),
    },
    {
      label: "Step × devices, estimated",
      is: onAll(asked, numRanks(both.asked, tp)),
      was: onAll(ran, numRanks(both.ran, tp)),
    },
    {
      ...count("Idle, estimated", asked.predicted_idle_frac, ran.predicted_idle_frac, formatPercent),
      ...(measured && { measured: formatPercent(measured.idle_frac) }),
    },
    count("Lower bound", asked.idle_bound_frac, ran.idle_bound_frac, formatPercent),
    count("Micro-batches per rank", asked.num_microbatches, ran.num_microbatches, formatInteger),
    count("Dummies", asked.num_dummies, ran.num_dummies, formatInteger),
    count("Over cap", asked.num_over_cap, ran.num_over_cap, formatInteger),
    {
      label: "Largest micro-batch, tokens per rank",
      is: perRank(asked.max_micro_batch_tokens, both.asked.cp),
      was: perRank(ran.max_micro_batch_tokens, both.ran.cp),
    },
  ];
}

function count(label: string, is: number, was: number, format: (value: number) => string): Delta {
  return { label, is: format(is), was: format(was) };
}

/** For screen readers, and for whoever looks away while dragging. */
export function deltaSentence(deltas: readonly Delta[]): string {
  return deltas
    .map(({ label, is, was, change, measured }) =>
      [`${label} ${is} from ${was}`, change?.text, measured && `measured ${measured}`]
        .filter(Boolean)
        .join(", "),
    )
    .join("; ");
}

/** Without an answer the places stay. */
export function Deltas({ answer, tp }: { answer: WhatIf | undefined; tp: number }) {
  const deltas = answer ? deltasOf(answer, tp) : null;
  return (
    <dl className={styles.deltas}>
      {(deltas ?? LABELS.map((label) => ({ label, is: "–", was: null }))).map((delta) => (
        <div key={delta.label}>
          <dt>{delta.label}</dt>
          <dd>
            {delta.is} {delta.was !== null && <small>from {delta.was}</small>}{" "}
            {"change" in delta && delta.change && (
              <span className={delta.change.isBetter ? styles.better : undefined}>{delta.change.text}</span>
            )}
            {"measured" in delta && delta.measured && (
              <small className={styles.apart}>measured: {delta.measured}</small>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const LABELS = [
  "Step, estimated",
  "Step × devices, estimated",
  "Idle, estimated",
  "Lower bound",
  "Micro-batches per rank",
  "Dummies",
  "Over cap",
  "Largest micro-batch, tokens per rank",
];
