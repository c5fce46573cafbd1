/** What a span says of itself, in a card beside it. */
import type { Row } from "./lane-rows";
import type { SpanCard } from "./span-facts";
import styles from "./timeline.module.css";

const CARD_PX = 232;
const CARD_HEIGHT_PX = 130;

export interface SpanCardBoxProps {
  card: SpanCard;
  left: number;
  top: number;
}

export function SpanCardBox({ card, left, top }: SpanCardBoxProps) {
  return (
    <div className={styles.card} style={{ left, top, width: CARD_PX }} aria-hidden="true">
      <div className={styles.cardHead}>
        {card.title}
        <bdi>{card.place}</bdi>
      </div>
      <dl className={styles.cardFacts}>
        {card.facts.map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Under the row, above it where there is no room; inside of the plot. */
export function cardPlace(
  scroller: HTMLElement,
  plot: Element | null,
  left: number,
  row: Row,
): { left: number; top: number } {
  const [frame, at] = [
    scroller.getBoundingClientRect(),
    plot?.getBoundingClientRect() ?? scroller.getBoundingClientRect(),
  ];
  const offset = at.left - frame.left;
  const top = row.top - scroller.scrollTop;
  const isBelow = frame.top + top + row.height + CARD_HEIGHT_PX < window.innerHeight;
  return {
    left: Math.max(offset, Math.min(offset + left + 12, frame.width - CARD_PX - 8)),
    top: isBelow ? top + row.height + 6 : top - CARD_HEIGHT_PX - 6,
  };
}
