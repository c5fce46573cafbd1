/** The lines, as many as are seen. What is before the reader stays where it is: older lines come above it, newer ones
 * below, and only a reader at the end goes on with them. */
import { type RefObject, useCallback, useImperativeHandle, useMemo, useRef, useState } from "react";
import type { LogLine } from "@/api/types";
import { Button } from "@/components/button";
import { Icon } from "@/components/icon";
import { formatCount } from "@/lib/numbers";
import type { LogReader } from "./log-reader";
import { LogRow } from "./log-row";
import { inTimeOrder, type LogWindow } from "./log-window";
import styles from "./logs.module.css";
import { type LogLinesHandle, useLinePlace } from "./use-line-place";
import { type LineRows, useLineRows } from "./use-line-rows";
import { useHeldEnd, useIsSelected, useUnseen } from "./use-log-end";

export interface LogLinesProps {
  runId: string;
  reader: LogReader;
  window: LogWindow;
  query: string;
  /** The line that is pointed to. */
  line: number | null;
  isOfOneSource: boolean;
  onLine: (line: number | undefined) => void;
  handle: RefObject<LogLinesHandle | null>;
}

export function LogLines(props: LogLinesProps) {
  const { reader, window, line, onLine, handle } = props;
  const lines = useMemo(() => inTimeOrder(window.lines), [window.lines]);
  const scroller = useRef<HTMLElement>(null);
  const isSelected = useIsSelected(scroller);
  const rows = useLineRows(scroller, lines, { reader, window, isFollowed: !isSelected });
  const { numUnseen, isAtEnd, onScroll } = useUnseen(window, scroller, isSelected);
  useHeldEnd(scroller, isAtEnd);
  const { goTo, goToEnd } = useLinePlace(rows, { reader, window, lines, line, onLine });
  useImperativeHandle(handle, () => ({ goTo, goToEnd }), [goTo, goToEnd]);
  return (
    <div className={styles.frame}>
      <section
        ref={scroller}
        className={styles.scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label="Lines"
        onScroll={onScroll}
      >
        <DrawnLines {...props} rows={rows} lines={lines} />
      </section>
      {!isAtEnd && (
        <Button className={styles.newest} onClick={goToEnd}>
          <Icon name="down" />
          {numUnseen > 0 ? formatCount(numUnseen, "new line") : "Newest line"}
        </Button>
      )}
    </div>
  );
}

interface DrawnLinesProps extends Pick<LogLinesProps, "runId" | "query" | "line" | "isOfOneSource"> {
  rows: LineRows;
  lines: readonly LogLine[];
}

function DrawnLines({ runId, query, line, isOfOneSource, rows, lines }: DrawnLinesProps) {
  const { opened, toggle } = useOpened();
  const items = rows.getVirtualItems();
  return (
    <div className={styles.lines} style={{ height: rows.getTotalSize() }}>
      <ol className={styles.drawn} style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
        {items.map(({ index, key }) => {
          const entry = lines[index];
          return (
            entry && (
              <LogRow
                key={key}
                runId={runId}
                entry={entry}
                index={index}
                measure={rows.measureElement}
                query={query}
                isPointedTo={entry.id === line}
                isOpen={opened.has(entry.id)}
                hasSource={!isOfOneSource}
                beginsAttempt={index > 0 && lines[index - 1]?.attempt !== entry.attempt}
                onToggle={toggle}
              />
            )
          );
        })}
      </ol>
    </div>
  );
}

/** Lines whose folded part is open. */
function useOpened() {
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const toggle = useCallback((id: number) => {
    setOpened((old) => {
      const next = new Set(old);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  return { opened, toggle };
}
