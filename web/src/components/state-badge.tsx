/** A run's state: its shape, then its word, then its colour, so that no reader depends on the last. */
import type { ReactNode } from "react";
import { classNames } from "@/lib/class-names";
import styles from "./state-badge.module.css";

const RING = <circle cx="7" cy="7" r="5.25" fill="none" stroke="currentColor" strokeWidth="1.5" />;
const DISC = <circle cx="7" cy="7" r="6.2" fill="currentColor" />;
const BARS = (
  <>
    {RING}
    <path d="M5.6 5v4M8.4 5v4" stroke="currentColor" strokeWidth="1.5" />
  </>
);

interface StateLook {
  word: string;
  shape: ReactNode;
}

const LOOKS = {
  queued: {
    word: "Queued",
    shape: (
      <circle
        cx="7"
        cy="7"
        r="5.25"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeDasharray="2.1 2.02"
      />
    ),
  },
  starting: {
    word: "Starting",
    shape: (
      <>
        {RING}
        <path d="M7 7V3.7A3.3 3.3 0 0 1 10.3 7Z" fill="currentColor" />
      </>
    ),
  },
  running: {
    word: "Running",
    shape: (
      <>
        {DISC}
        <path d="M5.6 4.3v5.4L9.9 7Z" className={styles.cut} />
      </>
    ),
  },
  pausing: { word: "Pausing", shape: BARS },
  paused: { word: "Paused", shape: BARS },
  stopping: {
    word: "Stopping",
    shape: (
      <>
        {RING}
        <rect x="5" y="5" width="4" height="4" fill="currentColor" />
      </>
    ),
  },
  succeeded: {
    word: "Succeeded",
    shape: (
      <>
        {DISC}
        <path
          d="m4.3 7.3 1.9 1.9 3.5-4.2"
          fill="none"
          className={styles.cutLine}
          strokeWidth="1.5"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </>
    ),
  },
  failed: {
    word: "Failed",
    shape: (
      <>
        <path d="M4.5.9h5l3.6 3.6v5L9.5 13.1h-5L.9 9.5v-5Z" fill="currentColor" />
        <path
          d="m4.9 4.9 4.2 4.2M9.1 4.9 4.9 9.1"
          fill="none"
          className={styles.cutLine}
          strokeWidth="1.5"
          strokeLinecap="round"
        />
      </>
    ),
  },
  cancelled: {
    word: "Cancelled",
    shape: (
      <>
        {RING}
        <path d="M3.5 10.5 10.5 3.5" stroke="currentColor" strokeWidth="1.5" />
      </>
    ),
  },
  lost: {
    word: "Lost",
    shape: (
      <>
        <path
          d="M7 .9 13.1 7 7 13.1.9 7Z"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
          strokeLinejoin="round"
        />
        <path
          d="M5.7 5.8a1.35 1.35 0 1 1 2 1.2c-.45.25-.7.5-.7 1"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.3"
          strokeLinecap="round"
        />
        <circle cx="7" cy="9.7" r=".85" fill="currentColor" />
      </>
    ),
  },
} satisfies Record<string, StateLook>;

/** The ten states of a run that the language draws. */
export type StateName = keyof typeof LOOKS;

/** The word for a state, as the badge shows it. */
export function stateWord(state: StateName): string {
  return LOOKS[state].word;
}

/** The shape alone, in the state's colour. It says nothing to a screen reader: its word must stand beside it. */
export function StateShape({ state, size = 14 }: { state: StateName; size?: number }) {
  return (
    <svg className={styles[state]} width={size} height={size} viewBox="0 0 14 14" aria-hidden="true">
      {LOOKS[state].shape}
    </svg>
  );
}

export interface StateBadgeProps {
  state: StateName;
  /** On a field of its own colour, for the head of a page. */
  isPill?: boolean;
  /** Hides the word from sight on narrow screens; it stays for screen readers. */
  isShapeOnlyWhenNarrow?: boolean;
}

export function StateBadge({ state, isPill = false, isShapeOnlyWhenNarrow = false }: StateBadgeProps) {
  return (
    <span
      className={classNames(
        styles.badge,
        styles[state],
        isPill && styles.pill,
        isShapeOnlyWhenNarrow && styles.shapeOnlyWhenNarrow,
      )}
      data-state={state}
    >
      <StateShape state={state} />
      <span className={styles.word}>{LOOKS[state].word}</span>
    </span>
  );
}
