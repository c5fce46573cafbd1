/** Under the charts: where the specs differ, and what came out. */
import { useSyncExternalStore } from "react";
import { Toggle } from "@/components/button";
import { BATCH_SIZE } from "@/components/chart/metric-names";
import { DataTable } from "@/components/data-table";
import { MetricText } from "@/components/metric-text";
import { Panel } from "@/components/panel";
import { RunDuration } from "@/components/run-standing";
import { ScrollRegion } from "@/components/scroll-region";
import { formatInteger, MISSING } from "@/lib/numbers";
import styles from "./compare.module.css";
import { useSeriesInk } from "./series-key";
import { specTable } from "./spec-table";
import { COMPARE_POINTS, type ComparedRun } from "./use-compared";

interface DifferencesProps {
  runs: readonly ComparedRun[];
  showsAll: boolean;
  setShowsAll: (showsAll: boolean) => void;
}

interface OutcomeProps {
  runs: readonly ComparedRun[];
  /** Supervised samples are not counted. */
  isRlOnly: boolean;
}

export function Tables({ runs, isRlOnly, showsAll, setShowsAll }: DifferencesProps & OutcomeProps) {
  return (
    <div className={styles.tables}>
      <Differences runs={runs} showsAll={showsAll} setShowsAll={setShowsAll} />
      <Outcome runs={runs} isRlOnly={isRlOnly} />
    </div>
  );
}

function Differences({ runs, showsAll, setShowsAll }: DifferencesProps) {
  const specs = runs.map(({ run }) => run.spec ?? run.config);
  const { rows, numFields, numDifferent } = specTable(specs, showsAll);
  return (
    <Panel
      title="Config differences"
      note={`${formatInteger(numDifferent)} of ${formatInteger(numFields)} fields, against the first run`}
      aside={
        <Toggle isOn={!showsAll} onClick={() => setShowsAll(!showsAll)}>
          Differences only
        </Toggle>
      }
    >
      <ScrollRegion label="Config differences, table">
        <DataTable className={styles.table}>
          <Head runs={runs} first="Field" />
          <tbody>
            {rows.map(({ path, values, isSame }) => (
              <tr key={path}>
                <th scope="row">{path}</th>
                {values.map((value, i) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a column is its index
                  <td key={i} data-same={(i > 0 && isSame[i]) || undefined}>
                    <bdi>{value || MISSING}</bdi>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </DataTable>
      </ScrollRegion>
      {rows.length === 0 && (
        <p className={styles.none}>
          {runs.length < 2
            ? `Nothing to differ from: ${runs.length === 0 ? "no" : "one"} run is drawn.`
            : "The specs are equal but for their names."}
        </p>
      )}
    </Panel>
  );
}

function Outcome({ runs, isRlOnly }: OutcomeProps) {
  const rows: [string, (run: ComparedRun) => React.ReactNode][] = [
    ["State", ({ run }) => run.state],
    ["Steps", ({ run }) => formatInteger(run.num_steps)],
    [isRlOnly ? "Samples, RL only" : "Samples", (run) => <SamplesTrained run={run} />],
    ["Reward, last", ({ run }) => <MetricText name="reward" value={run.last?.reward} />],
    ["Loss, last", ({ run }) => <MetricText name="loss" value={run.last?.loss} />],
    ["Batch size, last", ({ run }) => <MetricText name={BATCH_SIZE} value={run.last?.global_batch_size} />],
    ["Tokens/s, last", ({ run }) => <MetricText name="tokens_per_s" value={run.last?.tokens_per_s} />],
    ["Duration", ({ run }) => <RunDuration run={run} />],
  ];
  return (
    <Panel title="Outcome">
      <ScrollRegion label="Outcome, table">
        <DataTable className={styles.table}>
          <Head runs={runs} first="Measure" />
          <tbody>
            {rows.map(([label, value]) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {runs.map((run) => (
                  <td key={run.id}>{value(run)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </DataTable>
      </ScrollRegion>
    </Panel>
  );
}

/** On a sampled history the sum of the means over their buckets: exact, since every bucket knows its steps. */
function SamplesTrained({ run }: { run: ComparedRun }) {
  const track = run.history.want(BATCH_SIZE, COMPARE_POINTS);
  const total = useSyncExternalStore(
    (listener) => track.onChange(listener),
    () => {
      // Whichever part of it the charts show.
      if (!track.whole?.x.length) return null;
      const { value, step, lastStep } = track.whole;
      const total = value.reduce<number>(
        (sum, size, i) => sum + (size ?? 0) * ((lastStep[i] ?? 0) - (step[i] ?? 0) + 1),
        0,
      );
      return Math.round(total);
    },
  );
  return <MetricText name={BATCH_SIZE} value={total} />;
}

function Head({ runs, first }: { runs: readonly ComparedRun[]; first: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">{first}</th>
        {runs.map((run) => (
          <RunHeading key={run.id} run={run} />
        ))}
      </tr>
    </thead>
  );
}

function RunHeading({ run }: { run: ComparedRun }) {
  return (
    <th scope="col" style={{ color: useSeriesInk(run.series) }} title={run.run.name}>
      <bdi>{run.label}</bdi>
    </th>
  );
}
