/** The runs with their lines, drawn or not, and what each says under the cursor. */

import { Link } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { IconButton } from "@/components/button";
import type { ChartGroup } from "@/components/chart/chart-group";
import { BATCH_SIZE } from "@/components/chart/metric-names";
import { readingNear } from "@/components/chart/readings";
import { useCursor } from "@/components/chart/use-cursor";
import { xInWords } from "@/components/chart/x-labels";
import { Panel } from "@/components/panel";
import { StateShape } from "@/components/state-badge";
import { formatInteger, formatMetric, MISSING, NBSP } from "@/lib/numbers";
import styles from "./compare.module.css";
import { SeriesKey, useSeriesInk } from "./series-key";
import { COMPARE_POINTS, type ComparedRun } from "./use-compared";

export interface RunsPanelProps {
  runs: readonly ComparedRun[];
  /** So many more are on their way: their rows are kept free. */
  numLoading: number;
  hidden: readonly string[];
  onToggle: (id: string) => void;
  /** Draws all of them, or none when all are drawn. */
  onToggleAll: () => void;
  onRemove: (id: string) => void;
  group: ChartGroup;
}

export function RunsPanel(props: RunsPanelProps) {
  const { runs, numLoading, hidden, onToggle, onToggleAll, onRemove, group } = props;
  return (
    <Panel
      title="Runs"
      className={styles.runs}
      aside={runs.length > 1 && <AllRuns runs={runs} hidden={hidden} onToggleAll={onToggleAll} />}
    >
      <ul className={styles.list}>
        {runs.map(({ id, run, label, series }) => (
          <li key={id} data-hidden={hidden.includes(id) || undefined}>
            <label>
              <input
                type="checkbox"
                checked={!hidden.includes(id)}
                aria-label={`Draw ${label}`}
                onChange={() => onToggle(id)}
              />
              <SeriesKey series={series} />
            </label>
            <span className={styles.name}>
              <Link to="/runs/$runId" params={{ runId: id }} title={run.name}>
                <bdi>{run.name}</bdi>
              </Link>
              <small>
                {run.batch_policy}, {run.parallelism}
              </small>
            </span>
            <StateShape state={run.state} />
            <IconButton icon="cross" label={`Leave ${label} out`} onClick={() => onRemove(id)} />
          </li>
        ))}
        {Array.from({ length: numLoading }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows have no identity
          <li key={row} className={styles.waiting} aria-hidden="true" />
        ))}
      </ul>
      <Readout runs={runs.filter(({ id }) => !hidden.includes(id))} numLoading={numLoading} group={group} />
    </Panel>
  );
}

type AllRunsProps = Pick<RunsPanelProps, "runs" | "hidden" | "onToggleAll">;

function AllRuns({ runs, hidden, onToggleAll }: AllRunsProps) {
  const numDrawn = runs.filter(({ id }) => !hidden.includes(id)).length;
  return (
    <label className={styles.all}>
      {formatInteger(numDrawn)} of {formatInteger(runs.length)} drawn
      <input
        type="checkbox"
        checked={numDrawn === runs.length}
        ref={(box) => {
          if (box) box.indeterminate = numDrawn > 0 && numDrawn < runs.length;
        }}
        aria-label="Draw all runs"
        onChange={onToggleAll}
      />
    </label>
  );
}

const REWARD = "reward/mean";

/** In a fixed place: all runs at the cursor, without one the newest of each. */
function Readout({ runs, numLoading, group }: Pick<RunsPanelProps, "runs" | "numLoading" | "group">) {
  const x = useCursor(group);
  return (
    <table className={styles.readout}>
      <thead>
        <tr>
          <th scope="col">{x === null ? "Newest" : `At ${xInWords(group.xKind, x, new Date())}`}</th>
          <th scope="col">step</th>
          <th scope="col">reward</th>
          <th scope="col">batch</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <ReadoutRow key={run.id} run={run} x={x} />
        ))}
        {Array.from({ length: numLoading }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows have no identity
          <tr key={row}>
            <td colSpan={4}>{NBSP}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ReadoutRow({ run, x }: { run: ComparedRun; x: number | null }) {
  const ink = useSeriesInk(run.series);
  const batch = useValueAt(run, BATCH_SIZE, x);
  const reward = useValueAt(run, REWARD, x);
  return (
    <tr>
      <th scope="row" style={{ color: ink }}>
        <bdi>{run.label}</bdi>
      </th>
      <ValueCell text={batch.step} />
      <ValueCell text={reward.value} />
      <ValueCell text={batch.value} />
    </tr>
  );
}

function ValueCell({ text }: { text: string }) {
  return <td data-missing={text === MISSING || undefined}>{text}</td>;
}

/** Behind its last step a run has no value. It renders anew when the words change, not with every point. */
function useValueAt(
  { history }: ComparedRun,
  name: string,
  x: number | null,
): { step: string; value: string } {
  const track = history.want(name, COMPARE_POINTS);
  const text = useSyncExternalStore(
    (listener) => track.onChange(listener),
    () => {
      const end = track.columns.x.at(-1);
      const isPast = x !== null && end !== undefined && x > end;
      const reading = isPast ? null : readingNear(track, x);
      const step = reading ? formatInteger(reading.lastStep) : MISSING;
      return `${step}\n${formatMetric(name, reading?.value)}`;
    },
  );
  const [step = "", value = ""] = text.split("\n");
  return { step, value };
}
