/** Grey bars in the final layout, from 150 ms on; after 8 s the words that say so. Nothing turns or pulses. */
import { type CSSProperties, useEffect, useState } from "react";
import { Button } from "./button";
import styles from "./loading-bars.module.css";

const BARS_AFTER_MS = 150;
const WORDS_AFTER_MS = 8000;

function useHasPassed(ms: number): boolean {
  const [hasPassed, setHasPassed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setHasPassed(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return hasPassed;
}

export interface LoadingBarsProps {
  /** As many as the final layout has rows. */
  rows?: number;
  /** Of one row, in px: the final one, so that nothing moves when the content comes. */
  rowHeight?: number;
  /** Of one row up to 1,000 px, where it is a card. */
  narrowRowHeight?: number;
  /** Room for the heads of columns above the rows, where the final layout has them. */
  hasHead?: boolean;
  /** Lines of text instead of rows of a table. */
  isText?: boolean;
  /** False: beside others that wait for the same, of which one says so. */
  hasWords?: boolean;
  onRetry?: () => void;
}

export function LoadingBars({
  rows = 3,
  rowHeight = 40,
  narrowRowHeight = rowHeight,
  hasHead = false,
  isText = false,
  hasWords = true,
  onRetry,
}: LoadingBarsProps) {
  const showsBars = useHasPassed(BARS_AFTER_MS);
  const showsWords = useHasPassed(WORDS_AFTER_MS);
  const sizes = {
    "--rows": rows,
    "--wide-row": `${rowHeight}px`,
    "--narrow-row": `${narrowRowHeight}px`,
  } as CSSProperties;
  return (
    <div
      className={styles.loading}
      aria-busy="true"
      data-head={hasHead || undefined}
      data-text={isText || undefined}
      style={sizes}
    >
      {hasWords && <span className="sr-only">Loading</span>}
      {showsBars &&
        Array.from({ length: rows }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows have no identity
          <div key={row} className={styles.row} aria-hidden="true">
            <i className={styles.bar} />
            <i className={styles.bar} style={{ width: `${48 + ((row * 29) % 40)}%` }} />
            <i className={styles.bar} />
            <i className={styles.bar} />
          </div>
        ))}
      {hasWords && showsWords && (
        <p className={styles.words} role="status">
          <span className={styles.plate}>Still loading. The server has not answered for 8{"\u00a0"}s.</span>
          {onRetry && <Button onClick={onRetry}>Try now</Button>}
        </p>
      )}
    </div>
  );
}
