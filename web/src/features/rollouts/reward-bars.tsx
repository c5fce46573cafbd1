import { formatMetric } from "@/lib/numbers";
import { type RewardScale, rewardBars } from "./group-facts";
import styles from "./group-list.module.css";

const FULL_PX = 22;
const LEAST_PX = 2;

export interface RewardBarsProps {
  rewards: readonly (number | null)[];
  scale: RewardScale;
}

/** The rewards of a group, best first. */
export function RewardBars({ rewards, scale }: RewardBarsProps) {
  const bars = rewardBars(rewards, scale);
  return (
    <span className={styles.bars} role="img" aria-label={`Rewards ${rewardsText(rewards)}`}>
      {bars.map(({ height, isLow }, i) => (
        <i
          // biome-ignore lint/suspicious/noArrayIndexKey: bars have no identity
          key={i}
          data-low={isLow || undefined}
          style={{ height: Math.max(LEAST_PX, Math.round(height * FULL_PX)) }}
        />
      ))}
    </span>
  );
}

const MOST_TOLD = 16;

function rewardsText(rewards: readonly (number | null)[]): string {
  const told = rewards.slice(0, MOST_TOLD).map((reward) => formatMetric("reward", reward));
  return rewards.length > MOST_TOLD ? `${told.join(", ")} and more` : told.join(", ");
}
