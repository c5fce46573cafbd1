/** The card of the sample under the pointer or the focus: beside it, on narrow screens under the grid. */
import type { CSSProperties } from "react";
import styles from "./sample-card.module.css";
import type { SampleFacts } from "./sample-facts";

export function SampleCard({ card, style }: { card: SampleFacts; style: CSSProperties }) {
  return (
    <div className={styles.card} style={style} aria-hidden="true">
      <div className={styles.head}>
        {card.title}
        <span>{card.place}</span>
      </div>
      <dl>
        {card.facts.map(({ label, value, note, isForeign }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {isForeign ? (
                <bdi className={styles.foreign} title={value}>
                  {value}
                </bdi>
              ) : (
                value
              )}{" "}
              {note && <small>{note}</small>}
            </dd>
          </div>
        ))}
      </dl>
      <p className={styles.foot}>Enter or a double click opens its rollout</p>
    </div>
  );
}

/** The same in one breath, for screen readers. */
export function cardText({ title, place, facts }: SampleFacts): string {
  return [
    title,
    place,
    ...facts.map(({ label, value, note }) => `${label} ${value}${note ? `, ${note}` : ""}`),
  ].join("; ");
}
