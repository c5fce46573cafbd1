import { classNames } from "@/lib/class-names";
import styles from "./tag.module.css";

/** A tag as `key: value`; a tag whose value is empty or `true` is its key alone. */
export function tagText(key: string, value: string): string {
  return value === "" || value === "true" ? key : `${key}: ${value}`;
}

export function Tag({
  children,
  title,
  className,
}: {
  children: string;
  title?: string;
  className?: string | undefined;
}) {
  return (
    <span className={classNames(styles.tag, className)} title={title} dir="auto">
      {children}
    </span>
  );
}
