/** What stands over and under the lanes: the numbers of the steps, the warm start, and the step that is shown. */
import { useRef } from "react";
import { countTicks } from "@/components/chart/ticks";
import { formatInteger } from "@/lib/numbers";
import styles from "./step-strip.module.css";
import { useWidth } from "./use-width";

const PX_PER_TICK = 84;

export function StripAxis({ numSteps }: { numSteps: number }) {
  const plot = useRef<HTMLDivElement>(null);
  const width = useWidth(plot);
  const place = (step: number) => (step + 0.5) / Math.max(1, numSteps);
  const most = Math.max(2, Math.floor(width / PX_PER_TICK));
  const ticks = numSteps > 1 ? countTicks(0, numSteps - 1, most) : numSteps === 1 ? [0] : [];
  return (
    <div className={styles.axis} aria-hidden="true">
      <div ref={plot} className={styles.axisPlot}>
        {ticks.map((tick) => (
          <span key={tick} style={{ left: `${place(tick) * 100}%` }}>
            {formatInteger(tick)}
          </span>
        ))}
      </div>
    </div>
  );
}

export interface StripMarksProps {
  numSteps: number;
  /** Null: the run has one phase. */
  firstRlStep: number | null;
  selected: number | null;
}

export function StripMarks({ numSteps, firstRlStep, selected }: StripMarksProps) {
  const percent = (steps: number) => `${(steps / numSteps) * 100}%`;
  return (
    <>
      {firstRlStep !== null && firstRlStep > 0 && numSteps > 0 && (
        <div className={styles.cursorArea} aria-hidden="true">
          <i className={styles.warmStart} style={{ width: percent(Math.min(firstRlStep, numSteps)) }}>
            <span>warm start</span>
          </i>
        </div>
      )}
      {selected !== null && selected < numSteps && (
        <div className={styles.cursorArea} aria-hidden="true">
          <i className={styles.cursor} style={{ left: percent(selected + 0.5) }}>
            <span className={styles.plate}>{formatInteger(selected)}</span>
          </i>
        </div>
      )}
    </>
  );
}
