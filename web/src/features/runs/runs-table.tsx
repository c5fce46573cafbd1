/** The list itself. j and k move the focus from run to run; Enter is the link's own. */
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useRef } from "react";
import type { RunSummary } from "@/api/types";
import { LoadingBars } from "@/components/loading-bars";
import { useShortcuts } from "@/lib/shortcuts";
import { RunRow } from "./run-row";
import { nextSort, type Sort, type SortKey } from "./runs-sort";
import styles from "./runs-table.module.css";
import type { RowsBody } from "./use-held-runs";

export interface RunsTableProps {
  runs: readonly RunSummary[];
  body: RowsBody;
  selected: readonly string[];
  onSelect: (id: string) => void;
  onTag: (tag: string) => void;
  /** Null: as the server gives them. */
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
  /** Asks for the next page; null: there is none, or it is on its way. */
  onEnd: (() => void) | null;
}

/** Rows that are there beyond what is seen; `j` and `k` go through them. */
const OVERSCAN = 12;
/** Until a row has been measured. */
const ROW_PX = 40;
const LOADING_ROWS = 8;
/** A card of a narrow screen. */
const CARD_PX = 100;
/** So near to the last row the next page is asked for. */
const NEAR_END = 30;

export function RunsTable(props: RunsTableProps) {
  const { runs, body, selected, onSelect, onTag, sort, onSort, onEnd } = props;
  const table = useRef<HTMLTableElement>(null);
  const { rows, items, above, below } = useRows(table, runs, onEnd);
  useRowKeys(body.ref, onSelect);
  return (
    <table className={styles.table} ref={table} aria-rowcount={runs.length + 1}>
      <RunsHead sort={sort} onSort={onSort} />
      <tbody {...body}>
        {above > 0 && <Space height={above} />}
        {items.map((item) => {
          const run = runs[item.index];
          return (
            run && (
              <RunRow
                key={run.id}
                run={run}
                index={item.index}
                measure={rows.measureElement}
                isSelected={selected.includes(run.id)}
                onSelect={onSelect}
                onTag={onTag}
              />
            )
          );
        })}
        {below > 0 && <Space height={below} />}
      </tbody>
    </table>
  );
}

/** In the place of the table while it loads: its heads stand already. */
export function LoadingRuns({
  sort,
  onSort,
  onRetry,
}: Pick<RunsTableProps, "sort" | "onSort"> & { onRetry: () => void }) {
  return (
    <>
      <table className={styles.table}>
        <RunsHead sort={sort} onSort={onSort} />
      </table>
      <LoadingBars rows={LOADING_ROWS} rowHeight={ROW_PX} narrowRowHeight={CARD_PX} onRetry={onRetry} />
    </>
  );
}

/** The rows that are drawn, and the heights of what is left out over and under them. */
function useRows(
  table: RefObject<HTMLTableElement | null>,
  runs: readonly RunSummary[],
  onEnd: (() => void) | null,
) {
  const rows = useWindowVirtualizer({
    count: runs.length,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    scrollMargin: table.current?.offsetTop ?? 0,
    getItemKey: (i) => runs[i]?.id ?? i,
  });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onEnd && last >= runs.length - NEAR_END) onEnd();
  }, [onEnd, last, runs.length]);
  const above = (items[0]?.start ?? 0) - rows.options.scrollMargin;
  const below = rows.getTotalSize() - ((items.at(-1)?.end ?? 0) - rows.options.scrollMargin);
  return { rows, items, above, below };
}

function useRowKeys(body: RefObject<HTMLTableSectionElement | null>, onSelect: (id: string) => void): void {
  const move = (by: 1 | -1) => {
    const links = [...(body.current?.querySelectorAll<HTMLAnchorElement>("td a[href]") ?? [])];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    const next = at === -1 ? (by === 1 ? 0 : links.length - 1) : at + by;
    links[next]?.focus();
  };
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    x: () => {
      const id = document.activeElement?.closest<HTMLElement>("[data-run]")?.dataset.run;
      if (id) onSelect(id);
    },
    Escape: leave,
  });
}

function leave(): void {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

function RunsHead({ sort, onSort }: Pick<RunsTableProps, "sort" | "onSort">) {
  return (
    <thead>
      <tr>
        <th scope="col" className={styles.box}>
          <span className="sr-only">Selected</span>
        </th>
        <SortHead label="State" column="state" className={styles.state} sort={sort} onSort={onSort} />
        <SortHead label="Name" column="name" sort={sort} onSort={onSort} />
        <th scope="col" className={styles.policy}>
          Batch policy
        </th>
        <th scope="col" className={styles.spark}>
          Batch size
        </th>
        <SortHead label="Last" column="batch_size" className={styles.batch} sort={sort} onSort={onSort} />
        <SortHead label="Progress" column="steps" className={styles.progress} sort={sort} onSort={onSort} />
        <SortHead label="Reward" column="reward" className={styles.reward} sort={sort} onSort={onSort} />
        <SortHead label="Loss" column="loss" className={styles.loss} sort={sort} onSort={onSort} />
        <th scope="col" className={styles.tokens}>
          Tokens/s
        </th>
        <SortHead label="Started" column="started" className={styles.started} sort={sort} onSort={onSort} />
        <th scope="col" className={styles.duration}>
          Duration
        </th>
        <th scope="col" className={styles.menu}>
          <span className="sr-only">Actions</span>
        </th>
      </tr>
    </thead>
  );
}

/** Stands for the rows that are not drawn. */
function Space({ height }: { height: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row without a cell to focus
    <tr aria-hidden="true" className={styles.space}>
      <td style={{ height }} />
    </tr>
  );
}

interface HeadProps {
  label: string;
  column: SortKey;
  className?: string | undefined;
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}

function SortHead({ label, column, className, sort, onSort }: HeadProps) {
  const isOn = sort?.key === column;
  const order = !isOn ? undefined : sort.isDescending ? "descending" : "ascending";
  return (
    <th scope="col" className={className} aria-sort={order}>
      <button type="button" className={styles.sort} onClick={() => onSort(nextSort(sort, column))}>
        {label}
        {isOn && <span aria-hidden="true">{sort.isDescending ? " ↓" : " ↑"}</span>}
      </button>
    </th>
  );
}
