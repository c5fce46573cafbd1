/** The card of the sample that is read: beside it, on narrow screens under the grid. */
import { Link } from "@tanstack/react-router";
import type { CSSProperties, Ref } from "react";
import { IconButton } from "@/components/button";
import styles from "./sample-card.module.css";
import type { SampleFacts } from "./sample-facts";

export interface SampleCardProps {
  ref: Ref<HTMLDivElement>;
  card: SampleFacts;
  style: CSSProperties;
  /** A card that is held open can be reached, and has a button that closes it; another goes with its sample. */
  held: { runId: string; rollout: string | undefined; onClose: () => void } | null;
  /** Whether the grid has the focus: then Enter is its own. */
  hasKeys: boolean;
}

export function SampleCard({ ref, card, style, held, hasKeys }: SampleCardProps) {
  const { title, place, facts } = card;
  const as = held ? ({ role: "group", "aria-label": title } as const) : ({ "aria-hidden": true } as const);
  return (
    <div ref={ref} className={styles.card} style={style} data-held={held !== null || undefined} {...as}>
      <div className={styles.head}>
        {title}
        <span>{place}</span>
        {held && (
          <IconButton icon="cross" label="Close the card" className={styles.close} onClick={held.onClose} />
        )}
      </div>
      <dl>
        {facts.map(({ label, value, note, isForeign }) => (
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
      <p className={styles.foot}>
        {!held ? (
          `${hasKeys ? "Enter or a double click" : "A double click"} opens its rollout`
        ) : (
          <>
            {held.rollout !== undefined && (
              <Link
                to="/runs/$runId/rollouts"
                params={{ runId: held.runId }}
                search={{ rollout: held.rollout }}
              >
                Open the rollout
              </Link>
            )}
            <span>Esc closes the card</span>
          </>
        )}
      </p>
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
