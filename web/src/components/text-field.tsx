/** A field with its icon. Its key is shown while it is empty. */
import type { InputHTMLAttributes, Ref } from "react";
import { classNames } from "@/lib/class-names";
import { Icon, type IconName } from "./icon";
import styles from "./text-field.module.css";

export interface TextFieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value"> {
  label: string;
  icon?: IconName;
  value: string;
  onChange: (value: string) => void;
  ref?: Ref<HTMLInputElement>;
}

export function TextField({ label, icon, value, onChange, className, ref, ...rest }: TextFieldProps) {
  return (
    <label className={classNames(styles.field, className)}>
      {icon && <Icon name={icon} />}
      <input
        ref={ref}
        className={styles.input}
        aria-label={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        autoComplete="off"
        spellCheck={false}
        {...rest}
      />
    </label>
  );
}
