/** The list itself. j and k move the focus from run to run; Enter is the link's own. */
import { useRef } from "react";
import type { RunSummary } from "@/api/types";
import { useShortcuts } from "@/lib/shortcuts";
import { RunRow } from "./run-row";
import styles from "./runs-table.module.css";

function leave(): void {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

export interface RunsTableProps {
  runs: readonly RunSummary[];
  selected: readonly string[];
  onSelect: (id: string) => void;
  onTag: (tag: string) => void;
}

export function RunsTable({ runs, selected, onSelect, onTag }: RunsTableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
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
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          <th scope="col" className={styles.box}>
            <span className="sr-only">Selected</span>
          </th>
          <th scope="col" className={styles.state}>
            State
          </th>
          <th scope="col">Name</th>
          <th scope="col" className={styles.policy}>
            Batch policy
          </th>
          <th scope="col" className={styles.spark}>
            Batch size
          </th>
          <th scope="col" className={styles.batch}>
            Last
          </th>
          <th scope="col" className={styles.progress}>
            Progress
          </th>
          <th scope="col" className={styles.reward}>
            Reward
          </th>
          <th scope="col" className={styles.loss}>
            Loss
          </th>
          <th scope="col" className={styles.tokens}>
            Tokens/s
          </th>
          <th scope="col" className={styles.started}>
            Started
          </th>
          <th scope="col" className={styles.duration}>
            Duration
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {runs.map((run) => (
          <RunRow
            key={run.id}
            run={run}
            isSelected={selected.includes(run.id)}
            onSelect={onSelect}
            onTag={onTag}
          />
        ))}
      </tbody>
    </table>
  );
}
