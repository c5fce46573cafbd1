/** What is odd in a step, in a sentence over its grid; the sample that it names leads to its box and to its rollout. */
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { StepRow, StepSchedule } from "@/api/types";
import { Icon } from "@/components/icon";
import { SampleMention } from "./sample-mention";
import styles from "./schedule-page.module.css";
import { findingOf } from "./step-sentences";

export interface FindingLineProps {
  record: StepSchedule;
  row: StepRow;
  onShow: (sample: number) => void;
}

/** Its place stays, so that the grid does not jump from step to step. */
export function FindingLine({ record, row, onShow }: FindingLineProps) {
  const finding = useMemo(() => findingOf(record.schedule, row), [record, row]);
  if (!finding) {
    return (
      <div className={styles.finding} data-empty>
        <span role="status">Nothing odd in this step.</span>
      </div>
    );
  }
  const { head, detail, sample } = finding;
  const rollout = sample === undefined ? undefined : record.schedule.samples.rollout_id[sample];
  return (
    <div className={styles.finding}>
      <Icon name="warning" />
      <span role="status">
        <b>
          <SampleMention text={head} sample={sample} onShow={onShow} />
        </b>{" "}
        <SampleMention text={detail} sample={sample} onShow={onShow} />
        {rollout !== undefined && (
          <>
            {" "}
            <Link to="/runs/$runId/rollouts" params={{ runId: record.run_id }} search={{ rollout }}>
              Its rollout
            </Link>
          </>
        )}
      </span>
    </div>
  );
}
