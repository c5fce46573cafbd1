/** A stepped line from 0 to its own maximum, in a fixed place. Decoration: the numbers stand beside it. */
import { classNames } from "@/lib/class-names";
import styles from "./sparkline.module.css";
import { sparklinePaths } from "./sparkline-paths";

/** `isMuted`: in grey, for a run that has ended. */
export function Sparkline({ values, isMuted = false }: { values: readonly number[]; isMuted?: boolean }) {
  const { line, area } = sparklinePaths(values);
  return (
    <svg
      className={classNames(styles.spark, isMuted && styles.muted)}
      viewBox="0 0 1000 100"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path className={styles.area} d={area} />
      <path className={styles.line} d={line} />
    </svg>
  );
}
