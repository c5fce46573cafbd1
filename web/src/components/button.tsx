/** Buttons: a verb with its object. One primary button on a page; an icon alone only where its name is known. */
import type { ButtonHTMLAttributes } from "react";
import { classNames } from "@/lib/class-names";
import styles from "./button.module.css";
import { Icon, type IconName } from "./icon";

type ButtonAttributes = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type">;

export interface ButtonProps extends ButtonAttributes {
  variant?: "default" | "primary" | "ghost" | "danger";
  icon?: IconName;
}

export function Button({ variant = "default", icon, className, children, ...rest }: ButtonProps) {
  return (
    <button type="button" className={classNames(styles.button, styles[variant], className)} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export interface IconButtonProps extends ButtonAttributes {
  icon: IconName;
  /** The accessible name, also shown on hover. */
  label: string;
}

export function IconButton({ icon, label, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      className={classNames(styles.iconButton, className)}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}

export interface ToggleProps extends ButtonAttributes {
  isOn: boolean;
}

/** A button that stays pressed. */
export function Toggle({ isOn, className, ...rest }: ToggleProps) {
  return (
    <button type="button" className={classNames(styles.toggle, className)} aria-pressed={isOn} {...rest} />
  );
}
