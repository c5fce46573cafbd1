/** Two responses of a group side by side; what only one of them has stands out. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { problemSentence } from "@/api/problem";
import { rolloutOptions } from "@/api/rollouts";
import type { RolloutDetail, RolloutHead } from "@/api/types";
import { Button } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import { LoadingBars } from "@/components/loading-bars";
import { ProblemPanel } from "@/components/problem-panel";
import { classNames } from "@/lib/class-names";
import { formatCount, formatInteger, formatMetric, formatPercent } from "@/lib/numbers";
import pane from "./pane.module.css";
import { type DiffPart, diffResponses } from "./response-diff";
import styles from "./rollout-view.module.css";

const LOADING_ROWS = 10;

export interface DiffViewProps {
  runId: string;
  rollouts: readonly RolloutHead[];
  firstId: string;
  secondId: string;
  onSwap: () => void;
}

export function DiffView({ runId, rollouts, firstId, secondId, onSwap }: DiffViewProps) {
  const first = useQuery(rolloutOptions(runId, firstId));
  const second = useQuery(rolloutOptions(runId, secondId));
  const error = first.error ?? second.error;
  // The one that was read before stays until the new one is there, and is no other's.
  const isOld = first.isPlaceholderData || second.isPlaceholderData;
  const indexOf = (id: string) => rollouts.findIndex(({ rollout_id }) => rollout_id === id);
  const isForeign = [first.data, second.data].some((one) => one && indexOf(one.rollout_id) === -1);
  return (
    <section className={pane.pane} aria-label="Diff" data-old={isOld || undefined}>
      {error ? (
        <ProblemPanel
          title="The responses did not load"
          detail={problemSentence(error)}
          onRetry={() => {
            void first.refetch();
            void second.refetch();
          }}
        />
      ) : first.data && second.data && !isForeign ? (
        <Both
          first={{ letter: "A", index: indexOf(first.data.rollout_id), rollout: first.data }}
          second={{ letter: "B", index: indexOf(second.data.rollout_id), rollout: second.data }}
          onSwap={onSwap}
        />
      ) : (
        <LoadingBars rows={LOADING_ROWS} />
      )}
    </section>
  );
}

interface Side {
  letter: string;
  index: number;
  rollout: RolloutDetail;
}

function Both({ first, second, onSwap }: { first: Side; second: Side; onSwap: () => void }) {
  const [a, b] = [first.rollout.text, second.rollout.text];
  const diff = useMemo(() => (a === null || b === null ? null : diffResponses(a, b)), [a, b]);
  if (a === null || b === null) {
    return (
      <EmptyState title="These responses are not kept">Their rewards and counts are complete.</EmptyState>
    );
  }
  return (
    <>
      <div className={classNames(pane.head, styles.head)}>
        <h2>
          Rollout {formatInteger(first.index)} and {formatInteger(second.index)}
        </h2>
        <span className={styles.note}>
          {diff
            ? `${formatPercent(diff.sharedFrac)} shared, compared by ${diff.comparedBy}`
            : "too long and too different to compare"}
        </span>
        <Button variant="ghost" onClick={onSwap}>
          Swap
        </Button>
      </div>
      <div className={styles.columns}>
        <Column side={first} parts={diff?.first ?? whole(a)} className={styles.first} />
        <Column side={second} parts={diff?.second ?? whole(b)} className={styles.second} />
      </div>
    </>
  );
}

function whole(text: string): DiffPart[] {
  return [{ text, isShared: true }];
}

interface ColumnProps {
  side: Side;
  parts: readonly DiffPart[];
  className: string | undefined;
}

function Column({ side: { letter, index, rollout }, parts, className }: ColumnProps) {
  return (
    <div className={styles.column}>
      <h3>
        <i>{letter}</i>
        Rollout {formatInteger(index)}{" "}
        <small>
          reward {formatMetric("reward", rollout.reward)}, {formatCount(rollout.num_tokens, "token")}
        </small>
      </h3>
      <pre dir="auto">
        {parts.map(({ text, isShared }, i) =>
          isShared ? (
            text
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity
            <mark key={i} className={className}>
              {text}
            </mark>
          ),
        )}
      </pre>
    </div>
  );
}
