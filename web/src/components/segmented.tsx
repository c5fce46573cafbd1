/** A choice of at most five, all of them in view. */
import styles from "./segmented.module.css";

export interface SegmentedProps<Value extends string> {
  /** The accessible name of the group. */
  label: string;
  options: readonly { value: Value; label: string }[];
  value: Value;
  onChange: (value: Value) => void;
}

export function Segmented<Value extends string>({ label, options, value, onChange }: SegmentedProps<Value>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings a legend and a box that this control has no room for
    <span className={styles.group} role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          className={styles.option}
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </span>
  );
}
