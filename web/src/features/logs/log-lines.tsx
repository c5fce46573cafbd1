/** The lines, as many as are seen. What is before the reader stays where it is: older lines come above it, newer ones
 * below, and only a reader at the end goes on with them. */
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type RefObject,
  useCallback,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from "react";
import { Button } from "@/components/button";
import { Icon } from "@/components/icon";
import { formatCount } from "@/lib/numbers";
import type { LogReader } from "./log-reader";
import { countAfter } from "./log-reader";
import { LogRow } from "./log-row";
import { holds, indexOf, inTimeOrder, type LogWindow } from "./log-window";
import styles from "./logs.module.css";

const ROW_PX = 21;
const OVERSCAN = 30;
/** So many rows from an end the next page is asked for. */
const NEAR_END = 120;
/** Whoever is so near to the end is at it. */
const AT_END_PX = 30;

export interface LogLinesHandle {
  goTo: (line: number) => void;
  goToEnd: () => void;
}

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
  const { runId, reader, window, query, line, isOfOneSource, onLine, handle } = props;
  const lines = useMemo(() => inTimeOrder(window.lines), [window.lines]);
  const scroller = useRef<HTMLElement>(null);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    getItemKey: (i) => lines[i]?.id ?? i,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: AT_END_PX,
  });
  const items = rows.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => {
    if (window.before !== null && first < NEAR_END) void reader.older();
    if (window.hasAfter && last > lines.length - NEAR_END) void reader.newer();
  }, [reader, window, first, last, lines.length]);
  const { numUnseen, isAtEnd, onScroll } = useUnseen(window, scroller);
  useHeldEnd(scroller, isAtEnd);

  const wanted = useRef<number | "end" | null>(line ?? "end");
  useEffect(() => {
    if (wanted.current === null || lines.length === 0) return;
    if (wanted.current === "end") {
      if (window.hasAfter) return;
      rows.scrollToEnd();
    } else {
      if (!holds(window, wanted.current)) return;
      const id = window.lines[indexOf(window.lines, wanted.current)]?.id;
      const index = lines.findIndex((entry) => entry.id === id);
      rows.scrollToIndex(index === -1 ? lines.length - 1 : index, { align: "center" });
    }
    wanted.current = null;
  });
  const goTo = useCallback(
    (id: number) => {
      wanted.current = id;
      onLine(id);
      if (!holds(reader.state.window, id)) void reader.open(id);
    },
    [reader, onLine],
  );
  const goToEnd = useCallback(() => {
    wanted.current = "end";
    onLine(undefined);
    if (reader.state.window.hasAfter) void reader.open(null);
    else rows.scrollToEnd();
  }, [reader, rows, onLine]);
  useImperativeHandle(handle, () => ({ goTo, goToEnd }), [goTo, goToEnd]);
  const toggle = useCallback((id: number) => {
    setOpened((old) => {
      const next = new Set(old);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
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

/** A reader at the end stays there when the room for the lines changes. */
function useHeldEnd(scroller: RefObject<HTMLElement | null>, isAtEnd: boolean): void {
  useEffect(() => {
    const element = scroller.current;
    if (!element || !isAtEnd) return;
    const observer = new ResizeObserver(() => {
      element.scrollTop = element.scrollHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller, isAtEnd]);
}

/** Lines that came since the reader left the end. */
function useUnseen(window: LogWindow, scroller: RefObject<HTMLElement | null>) {
  const newest = window.lines.at(-1)?.id ?? 0;
  const [leftAt, setLeftAt] = useState<number | null>(null);
  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    // Asked of the element: the virtual list hears of this scroll later.
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (below <= AT_END_PX && !window.hasAfter) setLeftAt(null);
    else setLeftAt((old) => old ?? newest);
  };
  const isAtEnd = leftAt === null && !window.hasAfter;
  return { numUnseen: leftAt === null ? 0 : countAfter(window.lines, leftAt), isAtEnd, onScroll };
}
