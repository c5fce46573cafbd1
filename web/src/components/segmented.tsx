/** A choice of at most five, all of them in view. */
import styles from "./segmented.module.css";

export interface SegmentedProps<Value extends string> {
  /** The accessible name of the group. */
  label: string;
  options: readonly { value: Value; label: string; title?: string | undefined }[];
  value: Value;
  onChange: (value: Value) => void;
  /** What was chosen is on its way. */
  isBusy?: boolean;
}

export function Segmented<Value extends string>(props: SegmentedProps<Value>) {
  const { label, options, value, onChange, isBusy } = props;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings a legend and a box that this control has no room for
    <span className={styles.group} role="group" aria-label={label} aria-busy={isBusy || undefined}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          className={styles.option}
          title={option.title}
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </span>
  );
}
