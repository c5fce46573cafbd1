// biome-ignore-all lint/a11y/useSemanticElements: a table has no place for boxes on a time axis
// biome-ignore-all lint/a11y/useFocusableInteractive: in a grid one cell takes the Tab key, the arrow keys move it
/** The rows of the grid, one per rank. Of very many only those near the window exist, and the one that has the focus. */
import { defaultRangeExtractor, useWindowVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import type { RankOrder } from "./grid-geometry";
import styles from "./schedule-grid.module.css";

/** Height of a row that is not opened, its line included. */
const THIN_PX = 18;
const OVERSCAN = 12;
/** Rows, and micro-batches in all of them, that a browser draws without a pause. */
const MANY_ROWS = 128;
const MANY_CELLS = 1024;
/** A place that has moved by less is the same. */
const MOVED_PX = 1;

export interface RankRowsProps {
  order: readonly RankOrder[];
  /** Of each rank. */
  numMicroBatches: number;
  /** A rank whose row exists wherever the window is. */
  kept: number;
  /** Changes with the width of the page, as the height of opened rows may. */
  laneWidth: number;
  children: (row: RankOrder, place: RowPlace) => ReactNode;
}

export interface RowPlace {
  style?: CSSProperties;
  "aria-rowindex": number;
}

export function RankRows(props: RankRowsProps) {
  const { order, numMicroBatches, children } = props;
  if (order.length > MANY_ROWS || order.length * numMicroBatches > MANY_CELLS)
    return <WindowedRows {...props} />;
  // The first row is that of the heads.
  return order.map((row, i) => children(row, { "aria-rowindex": i + 2 }));
}

function WindowedRows({ order, kept, laneWidth, children }: RankRowsProps) {
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const openPx = laneWidth > 0 ? openHeight() : THIN_PX;
  const keptRow = order.findIndex(({ rank }) => rank === kept);
  const rows = useWindowVirtualizer({
    count: order.length,
    estimateSize: (i) => (order[i]?.isOpen ? openPx : THIN_PX),
    overscan: OVERSCAN,
    scrollMargin: top,
    rangeExtractor: (range) =>
      [...new Set([...defaultRangeExtractor(range), Math.max(0, keptRow)])].sort((a, b) => a - b),
  });
  useLayoutEffect(() => {
    const measure = () => {
      const now = (body.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
      setTop((before) => (Math.abs(now - before) > MOVED_PX ? now : before));
    };
    measure();
    // What stands above may grow: then the page does. To measure at every scroll would lay it out each time.
    const sizes = new ResizeObserver(measure);
    sizes.observe(document.body);
    return () => sizes.disconnect();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: sizes are asked for anew when they change
  useLayoutEffect(() => rows.measure(), [openPx, order.length]);
  return (
    <div ref={body} role="rowgroup" className={styles.rows} style={{ height: rows.getTotalSize() }}>
      {rows.getVirtualItems().map(({ index, start }) => {
        const row = order[index];
        return row && children(row, { style: { top: start - top }, "aria-rowindex": index + 2 });
      })}
    </div>
  );
}

function openHeight(): number {
  const height = getComputedStyle(document.documentElement).getPropertyValue("--lane-height");
  return Number.parseFloat(height) || THIN_PX;
}
