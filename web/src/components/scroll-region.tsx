/** Something wider than its place: it scrolls sideways, by keyboard too. */
import type { ReactNode } from "react";
import styles from "./scroll-region.module.css";

export function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={styles.scroll} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
