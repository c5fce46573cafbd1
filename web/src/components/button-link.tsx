/** A link that looks like a button: it goes somewhere and changes nothing. */
import { createLink } from "@tanstack/react-router";
import type { AnchorHTMLAttributes } from "react";
import { classNames } from "@/lib/class-names";
import styles from "./button.module.css";
import { Icon, type IconName } from "./icon";

interface AnchorProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  variant?: "default" | "primary" | "ghost";
  icon?: IconName;
  ref?: React.Ref<HTMLAnchorElement>;
}

function Anchor({ variant = "default", icon, className, children, ...rest }: AnchorProps) {
  return (
    <a className={classNames(styles.button, styles[variant], className)} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}

export const ButtonLink = createLink(Anchor);
