/** A metric's value as text: – where there is none, red where it is no number. */
import { formatCompact, formatMetric, isNonFinite, type MetricValue, MISSING } from "@/lib/numbers";
import styles from "./metric-text.module.css";

export interface MetricTextProps {
  name: string;
  value: MetricValue | undefined;
  /** `14.9k` instead of `14,930`. */
  isCompact?: boolean;
}

export function MetricText({ name, value, isCompact = false }: MetricTextProps) {
  if (value === null || value === undefined) return <span className={styles.missing}>{MISSING}</span>;
  if (isNonFinite(value)) return <span className={styles.nonFinite}>{formatMetric(name, value)}</span>;
  return <>{isCompact ? formatCompact(value) : formatMetric(name, value)}</>;
}
