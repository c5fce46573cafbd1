/** A sentence about a sample, with its name in it as a button that shows it in the grid. */
import styles from "./sample-mention.module.css";
import { sampleName } from "./step-sentences";

export interface SampleMentionProps {
  text: string;
  sample: number | undefined;
  onShow: (sample: number) => void;
}

export function SampleMention({ text, sample, onShow }: SampleMentionProps) {
  if (sample === undefined) return text;
  const [before, ...after] = text.split(sampleName(sample));
  if (after.length === 0) return text;
  return (
    <>
      {before}
      <button
        type="button"
        className={styles.sample}
        aria-label={`${sampleName(sample)}, show it in the grid`}
        data-shows-sample=""
        onClick={() => onShow(sample)}
      >
        {sampleName(sample)}
      </button>
      {after.join(sampleName(sample))}
    </>
  );
}
