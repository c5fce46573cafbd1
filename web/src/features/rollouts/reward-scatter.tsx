/** Reward against length of the rollouts of a group, and the cap between them. */
import type { RolloutHead } from "@/api/types";
import { formatCount } from "@/lib/numbers";
import styles from "./group-view.module.css";
import { scatterScale } from "./scatter-scale";

/** Behind this share of the width the cap's name stands before its line. */
const LATE = 0.6;

export interface RewardScatterProps {
  rollouts: readonly RolloutHead[];
  rolloutId: string | null;
  tokenCap: number | null;
  onChoose: (rolloutId: string) => void;
}

export function RewardScatter({ rollouts, rolloutId, tokenCap, onChoose }: RewardScatterProps) {
  const scored = rollouts.flatMap((rollout) =>
    rollout.reward === null ? [] : [{ ...rollout, reward: rollout.reward }],
  );
  if (scored.length < 2) return null;
  const scale = scatterScale(
    scored.map(({ num_tokens }) => num_tokens),
    scored.map(({ reward }) => reward),
  );
  const cap = tokenCap === null ? null : scale.x(tokenCap);
  return (
    <div className={styles.scatter}>
      <div className={styles.scatterHead}>
        <h3>Reward against length</h3>
        <span>tokens, log scale</span>
      </div>
      <div
        className={styles.plot}
        role="img"
        aria-label={`Reward against tokens of ${formatCount(scored.length, "rollout")}; the table above has the values`}
      >
        {scale.yTicks.map(({ at, text }) => (
          <div key={text} className={styles.gridLine} style={{ top: `${at * 100}%` }}>
            <span className={styles.yLabel}>{text}</span>
          </div>
        ))}
        {scale.xTicks.map(({ at, text }) => (
          <span key={text} className={styles.xLabel} style={{ left: `${at * 100}%` }}>
            {text}
          </span>
        ))}
        {cap !== null && cap > 0 && cap < 1 && (
          <div className={styles.cap} data-late={cap > LATE || undefined} style={{ left: `${cap * 100}%` }}>
            <span>token_cap</span>
          </div>
        )}
        {scored.map(({ rollout_id, num_tokens, reward }) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the table above has the keys
          // biome-ignore lint/a11y/noStaticElementInteractions: the reason above
          <i
            key={rollout_id}
            className={styles.dot}
            data-chosen={rollout_id === rolloutId || undefined}
            style={{ left: `${scale.x(num_tokens) * 100}%`, top: `${scale.y(reward) * 100}%` }}
            onClick={() => onChoose(rollout_id)}
          />
        ))}
      </div>
    </div>
  );
}
