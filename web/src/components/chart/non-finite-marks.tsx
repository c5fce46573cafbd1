/** The legend of values that no axis can hold: each mark as it is drawn, with its count. */
import type { NonFinite } from "@/lib/numbers";
import { formatInteger } from "@/lib/numbers";
import styles from "./non-finite-marks.module.css";

const SHAPES: Record<NonFinite, string> = {
  NaN: "M1.5 1.5l7 7M8.5 1.5l-7 7",
  Infinity: "M5 1.5l4 7h-8z",
  "-Infinity": "M5 8.5l4-7h-8z",
};

export type NonFiniteCounts = Partial<Record<NonFinite, number>>;

export function NonFiniteMarks({ counts }: { counts: NonFiniteCounts }) {
  return (Object.keys(SHAPES) as NonFinite[]).map((kind) => {
    const count = counts[kind];
    return count === undefined ? null : (
      <span key={kind} className={styles.mark}>
        <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
          <path d={SHAPES[kind]} fill={kind === "NaN" ? "none" : "currentColor"} />
        </svg>
        {formatInteger(count)} {kind.replace("-", "−")}
      </span>
    );
  });
}
