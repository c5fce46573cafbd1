/** A strip that says what is wrong with what stands below it, and the one or two things to do. */
import type { ReactNode } from "react";
import { classNames } from "@/lib/class-names";
import styles from "./banner.module.css";
import { Icon, type IconName } from "./icon";

export interface BannerProps {
  /** `info`: all is as it shall be; `warning`: it may mend itself; `error`: it will not. */
  kind: "info" | "warning" | "error";
  icon?: IconName;
  /** One sentence. */
  children: ReactNode;
  detail?: ReactNode;
  /** Below both, over the whole width. */
  below?: ReactNode;
  actions?: ReactNode;
}

export function Banner({ kind, icon, children, detail, below, actions }: BannerProps) {
  return (
    <div className={classNames(styles.banner, styles[kind])} role={kind === "error" ? "alert" : "status"}>
      <Icon name={icon ?? (kind === "error" ? "cross" : "warning")} />
      <p className={styles.text}>
        {children}
        {detail && <small className={styles.detail}>{detail}</small>}
      </p>
      {actions && <div className={styles.actions}>{actions}</div>}
      {below && <div className={styles.below}>{below}</div>}
    </div>
  );
}
