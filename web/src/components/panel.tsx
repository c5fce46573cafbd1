/** A panel is a named region with a hairline; its head holds the title and, at the right, notes and controls. */
import { type HTMLAttributes, type ReactNode, useId } from "react";
import { classNames } from "@/lib/class-names";
import styles from "./panel.module.css";

export interface PanelProps extends Omit<HTMLAttributes<HTMLElement>, "title"> {
  /** Heading, and the region's name. Without one give `aria-label`. */
  title?: ReactNode;
  headingLevel?: 2 | 3;
  /** Beside the title, in small. */
  note?: ReactNode;
  /** Stands at the right of the head. */
  aside?: ReactNode;
}

export function Panel({ title, headingLevel = 2, note, aside, className, children, ...rest }: PanelProps) {
  const id = useId();
  const Heading = headingLevel === 2 ? "h2" : "h3";
  return (
    <section
      className={classNames(styles.panel, className)}
      aria-labelledby={title ? id : undefined}
      {...rest}
    >
      {(title || aside) && (
        <div className={styles.head}>
          {title && (
            <Heading id={id} className={styles.title}>
              {title}
            </Heading>
          )}
          {note && <span className={styles.note}>{note}</span>}
          {aside && <div className={styles.aside}>{aside}</div>}
        </div>
      )}
      {children}
    </section>
  );
}
