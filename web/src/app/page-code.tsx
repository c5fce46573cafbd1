/** A page under the tabs of a run while its own scripts load: bars on a surface, as its panels will be. */
import { type ReactNode, Suspense } from "react";
import { LoadingBars } from "@/components/loading-bars";
import styles from "./page-code.module.css";

const ROWS = 8;

export function PageCode({ children }: { children: ReactNode }) {
  return (
    <Suspense
      fallback={
        <div className={styles.surface}>
          <LoadingBars rows={ROWS} />
        </div>
      }
    >
      {children}
    </Suspense>
  );
}
