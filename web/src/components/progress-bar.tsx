import { classNames } from "@/lib/class-names";
import styles from "./progress-bar.module.css";

export interface ProgressBarProps {
  /** 0 to 1. */
  fraction: number;
  isMoving: boolean;
  /** What progresses, for screen readers: "Steps of qwen3-4b". */
  label: string;
}

/** Accent while it moves, grey while it stands. */
export function ProgressBar({ fraction, isMoving, label }: ProgressBarProps) {
  const percent = Math.min(1, Math.max(0, fraction)) * 100;
  return (
    <div
      className={styles.track}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(percent)}
    >
      <i className={classNames(styles.bar, !isMoving && styles.standing)} style={{ width: `${percent}%` }} />
    </div>
  );
}
