/** The right half of the page: the plan, or why there is none. */
import type { Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { Blank } from "@/components/blank";
import { Button, Toggle } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import { LoadingBars } from "@/components/loading-bars";
import { ProblemPanel } from "@/components/problem-panel";
import styles from "./plan.module.css";
import { PlanView } from "./plan-view";
import type { Planned } from "./use-plan";

export interface PlanPartProps {
  plan: Planned;
  /** The text to begin with is on its way. */
  isLoading: boolean;
  /** The run whose lengths can be taken. */
  parent: Run | null;
  /** The share of its rollouts that its filter left, where it left some out. */
  keptFrac: number | null;
  usesOwnLengths: boolean;
  setUsesOwnLengths: (isOwn: boolean) => void;
}

/** Figures with their chart, and the panels under them. */
const MAIN = { rows: 11, rowHeight: 41 };
const LEVELS = { rows: 3, rowHeight: 32 };
const CHECKS = { rows: 8, rowHeight: 32 };
const RETRY_S = 5;

export function PlanPart({
  plan,
  isLoading,
  parent,
  keptFrac,
  usesOwnLengths,
  setUsesOwnLengths,
}: PlanPartProps) {
  return (
    <div className={styles.part}>
      {parent && (
        <div className={styles.lengths}>
          {keptFrac === null ? "Lengths" : "Lengths and share that is kept"}
          <Toggle isOn={!usesOwnLengths} onClick={() => setUsesOwnLengths(false)}>
            <span>
              measured by <bdi>{parent.name}</bdi>
            </span>
          </Toggle>
          <Toggle isOn={usesOwnLengths} onClick={() => setUsesOwnLengths(true)}>
            assumed
          </Toggle>
        </div>
      )}
      {plan.failure !== null && plan.plan && (
        <Banner kind="error" detail={plan.failure} actions={<Button onClick={plan.retry}>Try now</Button>}>
          The plan did not load.
        </Banner>
      )}
      <Body plan={plan} isLoading={isLoading} />
    </div>
  );
}

function Body({ plan, isLoading }: Pick<PlanPartProps, "plan" | "isLoading">) {
  if (plan.plan) {
    const isImpossible = plan.problems.length > 0;
    return (
      <>
        {isImpossible && <Banner kind="error">The plan is impossible: {sentence(plan)}</Banner>}
        <PlanView {...plan.plan} isOld={plan.isOld} />
      </>
    );
  }
  if (plan.isEmpty && !isLoading) {
    return (
      <div className={styles.nothing}>
        <EmptyState title="No spec yet">
          Begin with an example, or write one: its plan is drawn here while you type.
        </EmptyState>
      </div>
    );
  }
  if (plan.problems.length > 0) {
    return (
      <div className={styles.nothing}>
        <EmptyState title="The plan is impossible">
          <bdi>{sentence(plan)}</bdi>
        </EmptyState>
      </div>
    );
  }
  if (plan.failure !== null) {
    return (
      <div className={styles.nothing}>
        <ProblemPanel
          title="The plan did not load"
          detail={plan.failure}
          onRetry={plan.retry}
          retryAfterS={RETRY_S}
        />
      </div>
    );
  }
  return (
    <div className={styles.plan}>
      <div className={styles.nothing}>
        <LoadingBars {...MAIN} onRetry={plan.retry} />
      </div>
      <div className={styles.columns}>
        <Blank minHeight={0}>
          <LoadingBars {...LEVELS} hasWords={false} />
        </Blank>
        <Blank minHeight={0}>
          <LoadingBars {...CHECKS} hasWords={false} />
        </Blank>
      </div>
    </div>
  );
}

/** The first reason; the others stand at their lines. */
function sentence({ problems: [first] }: Planned): string {
  if (!first) return "";
  const where = first.line === null ? "" : ` (line ${first.line})`;
  return `${[first.field, first.detail].filter(Boolean).join(": ").replace(/\.$/, "")}${where}.`;
}
