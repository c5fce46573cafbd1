/** One line: when, who, and what. A traceback is folded to its first and last line. */
import { Link } from "@tanstack/react-router";
import { memo, useState } from "react";
import type { LogLine } from "@/api/types";
import { IconButton } from "@/components/button";
import { copyText } from "@/lib/copy-text";
import { formatCount, formatInteger } from "@/lib/numbers";
import { cutText } from "@/lib/texts";
import { formatClock, formatIso } from "@/lib/times";
import { foldText, isHit, partsOf, readable } from "./line-text";
import styles from "./logs.module.css";

export interface LogRowProps {
  runId: string;
  entry: LogLine;
  index: number;
  measure: (element: Element | null) => void;
  query: string;
  isPointedTo: boolean;
  isOpen: boolean;
  hasSource: boolean;
  beginsAttempt: boolean;
  onToggle: (id: number) => void;
}

export const LogRow = memo(function LogRow(props: LogRowProps) {
  const { runId, entry, index, measure, query, isPointedTo, hasSource, beginsAttempt } = props;
  const at = new Date(entry.at);
  return (
    <li ref={measure} data-index={index}>
      {beginsAttempt && <p className={styles.attempt}>Attempt {formatInteger(entry.attempt)}</p>}
      <div className={styles.line} data-level={entry.level} data-pointed={isPointedTo || undefined}>
        <Link
          from="/runs/$runId/logs"
          to="/runs/$runId/logs"
          params={{ runId }}
          search={(old) => ({ ...old, line: entry.id })}
          replace
          resetScroll={false}
          className={styles.time}
          title={`Link to this line\n${formatIso(at)}`}
          aria-current={isPointedTo || undefined}
        >
          <time dateTime={entry.at}>
            {formatClock(at)}
            <small>.{at.getMilliseconds().toString().padStart(3, "0")}</small>
          </time>
        </Link>
        {hasSource && (
          <bdi className={styles.source} title={entry.source}>
            {entry.source}
          </bdi>
        )}
        <span className={styles.level}>{LEVEL_WORDS[entry.level]}</span>
        <LineText {...props} query={query} />
        <IconButton
          icon="copy"
          label="Copy line"
          className={styles.copy ?? ""}
          onClick={() => void copyText(entry.text, "Line")}
        />
      </div>
    </li>
  );
});

const LEVEL_WORDS: Record<LogLine["level"], string> = {
  debug: "debug",
  info: "info",
  warning: "warning",
  error: "error",
};

function LineText({ entry, query, isOpen, onToggle }: LogRowProps) {
  const text = readable(entry.text);
  const folded = foldText(text);
  if (!folded) return <Marked text={text} query={query} />;
  // What is looked for may stand where it is folded.
  const inFold = !isOpen && isHit(text, query) && !isHit(folded.head, query) && !isHit(folded.tail, query);
  return (
    <div className={styles.text}>
      {isOpen ? (
        <Marked text={text} query={query} />
      ) : (
        <>
          <Marked text={folded.head} query={query} />
          <Marked text={folded.tail} query={query} />
        </>
      )}
      <button
        type="button"
        className={styles.fold}
        data-hit={inFold || undefined}
        aria-expanded={isOpen}
        onClick={() => onToggle(entry.id)}
      >
        {isOpen ? "Fold" : formatCount(folded.numHidden, "more line")}
        {inFold && ", with a hit"}
      </button>
    </div>
  );
}

function Marked({ text, query }: { text: string; query: string }) {
  const [showsAll, setShowsAll] = useState(false);
  const { shown, isCut } = showsAll ? { shown: text, isCut: false } : cutText(text);
  return (
    <pre className={styles.text} dir="auto">
      {partsOf(shown, query).map((part, i) =>
        part.isHit ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity
          <mark key={i}>{part.text}</mark>
        ) : (
          part.text
        ),
      )}
      {isCut && (
        <button type="button" className={styles.fold} onClick={() => setShowsAll(true)}>
          Show all
        </button>
      )}
    </pre>
  );
}
