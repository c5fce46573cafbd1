/** A surface in the place of panels that are not there: bars while they load, why there are none, what went wrong. */
import type { ReactNode } from "react";
import styles from "./blank.module.css";

const PANEL_PX = 316;

export interface BlankProps {
  /** In px: about as high as what is to come, so that nothing jumps. */
  minHeight?: number;
  children: ReactNode;
}

export function Blank({ minHeight = PANEL_PX, children }: BlankProps) {
  return (
    <div className={styles.blank} style={{ minHeight }}>
      {children}
    </div>
  );
}
