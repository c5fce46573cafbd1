/** The frame of a page without tabs: its main part, and the line with its title and what can be done. */
import type { ReactNode } from "react";
import { classNames } from "@/lib/class-names";
import styles from "./page.module.css";

export interface PageProps {
  title: string;
  /** Beside the title, in small: "14 runs, 3 running". */
  note?: ReactNode;
  /** At the right end of the line. */
  actions?: ReactNode;
  className?: string | undefined;
  children: ReactNode;
}

export function Page({ title, note, actions, className, children }: PageProps) {
  return (
    <main className={classNames(styles.page, className)}>
      <div className={styles.head}>
        <h1 className={styles.title}>{title}</h1>
        {note && <span className={styles.note}>{note}</span>}
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </main>
  );
}
