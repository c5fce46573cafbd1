/** The proof of a step's loss weights: the sum as an exact fraction, its hash, and how it is proved. */
import { useMemo } from "react";
import type { StepSchedule } from "@/api/types";
import { IconButton } from "@/components/button";
import { Icon } from "@/components/icon";
import { Panel } from "@/components/panel";
import { copyText } from "@/lib/copy-text";
import { formatInteger } from "@/lib/numbers";
import styles from "./fact-panels.module.css";
import { extremes, sumText } from "./fractions";

export function CertificatePanel({ record }: { record: StepSchedule }) {
  const { certificate, schedule } = record;
  const { weight } = schedule.samples;
  const sum = useMemo(() => sumText(weight, certificate.total), [weight, certificate.total]);
  return (
    <Panel title={<Verdict certificate={certificate} sum={sum} />} headingLevel={3} className={styles.panel}>
      {certificate.problem !== null && <p className={styles.problem}>{sentence(certificate.problem)}</p>}
      <dl className={styles.facts}>
        <dt>loss_aggregation</dt>
        <dd>{certificate.loss_aggregation}</dd>
        <Weights weights={weight} />
        <dt>Sum, as a fraction</dt>
        <dd>{sum}</dd>
      </dl>
      <p className={styles.hash}>
        <code title={certificate.sha256}>
          sha256 {certificate.sha256.slice(0, 6)}…{certificate.sha256.slice(-6)}
        </code>
        <IconButton
          icon="copy"
          label="Copy the hash"
          onClick={() => void copyText(certificate.sha256, "Hash")}
        />
      </p>
      <details className={styles.proof}>
        <summary>How this is proved</summary>
        <p>
          Each sample’s weight is kept as an exact fraction. The server adds them again when the step arrives.
          A test shows that the gradient of the real model then equals that of one process, whatever the
          layout.
        </p>
      </details>
    </Panel>
  );
}

/** `constant` has no total that it must reach: what it has is told. A step without a loss token has nothing to weigh. */
function Verdict({ certificate, sum }: { certificate: StepSchedule["certificate"]; sum: string }) {
  if (!certificate.holds) {
    return (
      <span className={styles.fails}>
        <Icon name="cross" />
        Weights sum to {sum}
      </span>
    );
  }
  const text =
    certificate.total === "0"
      ? "No loss token, nothing to weigh"
      : certificate.total === "1"
        ? "Weights sum to exactly 1"
        : `Weights sum to exactly ${certificate.total}`;
  return (
    <span className={styles.holds}>
      <Icon name="tick" />
      {text}
    </span>
  );
}

/** One weight where all are equal, otherwise the least and the greatest. */
function Weights({ weights }: { weights: readonly string[] }) {
  const { least, greatest } = useMemo(() => extremes(weights), [weights]);
  const count = formatInteger(weights.length);
  if (least === greatest) {
    return (
      <>
        <dt>{count} samples, each</dt>
        <dd>{least}</dd>
      </>
    );
  }
  return (
    <>
      <dt>{count} samples, from</dt>
      <dd className={styles.fraction} title={`${least} to ${greatest}`}>
        {least} to {greatest}
      </dd>
    </>
  );
}

/** A reason of the server begins in lower case and has no full stop. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
}
