/** All steps at once, to find the odd one: a click, or one of the buttons, goes to it. */
import { type MouseEvent, useCallback, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { fetchHistory } from "@/api/history";
import { problemSentence } from "@/api/problem";
import type { StepRow } from "@/api/types";
import { Toggle } from "@/components/button";
import { BATCH_SIZE, DROPPED, DUMMIES, IDLE, OVER_CAP } from "@/components/chart/metric-names";
import type { MetricTrack } from "@/components/chart/metric-track";
import { countTicks } from "@/components/chart/ticks";
import { HERO_POINTS, type RunCharts, useTrackState } from "@/components/chart/use-run-charts";
import { ProblemPanel } from "@/components/problem-panel";
import { Segmented } from "@/components/segmented";
import { formatInteger, formatPercent, MISSING } from "@/lib/numbers";
import type { Find } from "./schedule-search";
import styles from "./step-strip.module.css";
import {
  columnAt,
  columnsIn,
  findOf,
  oddest,
  oddStep,
  type PhaseSpan,
  type Pick,
  type StripColumn,
  spanOf,
  stripColumns,
} from "./strip-columns";
import { type LaneKind, StripLane } from "./strip-lane";
import { useWidth } from "./use-width";

interface Lane {
  name: string;
  label: string;
  kind: LaneKind;
  /** The button that looks for the oddest step, and which step that is. */
  find: string | null;
  pick: Pick;
  value: (step: StepRow) => string;
}

const LANES: readonly Lane[] = [
  {
    name: BATCH_SIZE,
    label: "Batch size",
    kind: "batch",
    find: "Smallest batch",
    pick: "least",
    value: (step) => formatInteger(step.global_batch_size),
  },
  {
    name: IDLE,
    label: "Idle",
    kind: "strong",
    find: "Most idle",
    pick: "most",
    value: (step) => formatPercent(step.measured_idle_frac),
  },
  {
    name: OVER_CAP,
    label: "Over cap",
    kind: "strong",
    find: "Over cap",
    pick: "most",
    value: (step) => formatInteger(step.num_over_cap),
  },
  {
    name: DUMMIES,
    label: "Dummies",
    kind: "faint",
    find: null,
    pick: "most",
    value: (step) => formatInteger(step.num_dummies),
  },
  {
    name: DROPPED,
    label: "Dropped",
    kind: "strong",
    find: "Most dropped",
    pick: "most",
    value: (step) => formatInteger(step.num_dropped),
  },
];
/** Buttons in the order of what is looked for most. */
const FINDS = [IDLE, OVER_CAP, BATCH_SIZE, DROPPED].map(
  (name) => LANES.find((lane) => lane.name === name) as Lane,
);

const RETRY_S = 5;

export interface StepStripProps {
  runId: string;
  charts: RunCharts;
  selected: number | null;
  row: StepRow | null;
  /** Whether a supervised phase comes first. */
  warmsUp: boolean;
  /** Null: the run has one phase. */
  firstRlStep: number | null;
  /** Where odd steps are looked for, once it is chosen. */
  find: Find | undefined;
  onFind: (find: Find) => void;
  onSelect: (step: number) => void;
}

export function StepStrip(props: StepStripProps) {
  const { runId, charts, selected, row, firstRlStep, onSelect } = props;
  const { history, batch } = charts;
  const tracks = useMemo(
    () => new Map(LANES.map(({ name }) => [name, history.want(name, HERO_POINTS)])),
    [history],
  );
  const numSteps = useCallback(() => batch.lastStep + 1, [batch]);
  const count = useSyncExternalStore((listener) => batch.onChange(listener), numSteps);
  const inPhase = findOf(selected, firstRlStep);
  const find = inPhase && (props.find ?? inPhase);
  const trackOf = (lane: Lane) => tracks.get(lane.name) as MetricTrack;
  const state = useTrackState(history, batch);
  const reload = useCallback(() => history.reload(), [history]);

  const onClick = async (event: MouseEvent<HTMLElement>, lane: Lane) => {
    const plot = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - plot.left) / plot.width) * count);
    const column = columnAt(stripColumns(trackOf(lane)), Math.min(count - 1, Math.max(0, at)));
    if (!column) return;
    onSelect(column.step === column.lastStep ? column.step : await exactStep(runId, lane, column));
  };
  return (
    <section className={styles.strip} aria-labelledby="strip-title">
      <div className={styles.head}>
        <h2 id="strip-title">All steps</h2>
        <StripNote batch={batch} />
        <Finders
          runId={runId}
          selected={selected}
          find={find}
          phase={spanOf(find, firstRlStep)}
          onFind={props.onFind}
          trackOf={trackOf}
          onSelect={onSelect}
        />
      </div>
      {state.kind === "failed" ? (
        <div className={styles.failed} data-phases={props.warmsUp || undefined}>
          <ProblemPanel
            title="The steps did not load"
            detail={problemSentence(state.error)}
            onRetry={reload}
            retryAfterS={RETRY_S}
            headingLevel={3}
          />
        </div>
      ) : (
        <div className={styles.lanes} data-phases={props.warmsUp || undefined}>
          {LANES.map((lane) => (
            <div key={lane.name} className={styles.lane} data-lane={lane.kind}>
              <span className={styles.label}>{lane.label}</span>
              {/* biome-ignore lint/a11y/useKeyWithClickEvents: the arrow keys go from step to step, the buttons to the odd ones */}
              {/* biome-ignore lint/a11y/noStaticElementInteractions: the reason above */}
              <div className={styles.plot} onClick={(event) => void onClick(event, lane)}>
                <StripLane track={trackOf(lane)} kind={lane.kind} numSteps={numSteps} />
              </div>
              <span className={styles.value}>{row ? lane.value(row) : MISSING}</span>
            </div>
          ))}
          <StripAxis numSteps={count} />
          {firstRlStep !== null && firstRlStep > 0 && count > 0 && (
            <div className={styles.cursorArea} aria-hidden="true">
              <i
                className={styles.warmStart}
                style={{ width: `${(Math.min(firstRlStep, count) / count) * 100}%` }}
              >
                <span>warm start</span>
              </i>
            </div>
          )}
          {selected !== null && selected < count && (
            <div className={styles.cursorArea} aria-hidden="true">
              <i className={styles.cursor} style={{ left: `${((selected + 0.5) / count) * 100}%` }}>
                <span className={styles.plate}>{formatInteger(selected)}</span>
              </i>
            </div>
          )}
        </div>
      )}
    </section>
  );
}

/** `1,285 steps, 2 per column, the larger shown`. */
function StripNote({ batch }: { batch: MetricTrack }) {
  const text = useSyncExternalStore(
    (listener) => batch.onChange(listener),
    () => {
      // Before the answer is there nobody knows how many.
      if (batch.total === 0) return "";
      const perColumn = batch.stepsPerBucket;
      const steps = `${formatInteger(batch.total)} ${batch.total === 1 ? "step" : "steps"}`;
      return perColumn > 1 ? `${steps}, ${formatInteger(perColumn)} per column, the larger shown` : steps;
    },
  );
  return <span className={styles.note}>{text}</span>;
}

interface FindersProps {
  runId: string;
  selected: number | null;
  /** Null: there is nothing to choose from, the run has one phase. */
  find: Find | null;
  onFind: (find: Find) => void;
  /** Where it looks; null: everywhere. */
  phase: PhaseSpan | null;
  trackOf: (lane: Lane) => MetricTrack;
  onSelect: (step: number) => void;
}

/** Each press goes to the next oddest step; a button stays pressed while its step is shown. */
function Finders({ runId, selected, find: where, onFind, phase, trackOf, onSelect }: FindersProps) {
  const [found, setFound] = useState<{ lane: string; rank: number; step: number } | null>(null);
  const find = async (lane: Lane) => {
    const columns = oddest(columnsIn(stripColumns(trackOf(lane)), phase), lane.pick);
    const isAgain = found?.lane === lane.name && found.step === selected;
    const rank = isAgain ? (found.rank + 1) % columns.length : 0;
    const column = columns[rank];
    if (!column) return;
    const step =
      column.step === column.lastStep ? column.step : await exactStep(runId, lane, within(column, phase));
    setFound({ lane: lane.name, rank, step });
    onSelect(step);
  };
  return (
    <div className={styles.finders}>
      <span className={styles.label} data-plain={where === null || undefined}>
        {where === null ? "Find" : "Find in"}
      </span>
      {where !== null && <Segmented label="Find in" options={FIND_OPTIONS} value={where} onChange={onFind} />}
      {FINDS.map((lane) => (
        <Finder
          key={lane.name}
          lane={lane}
          track={trackOf(lane)}
          phase={phase}
          isOn={found?.lane === lane.name && found.step === selected}
          onFind={() => void find(lane)}
        />
      ))}
    </div>
  );
}

/** The part of a column that is of the phase. */
function within(column: StripColumn, phase: PhaseSpan | null): StripColumn {
  if (phase === null) return column;
  const [first, last] = [phase.first, phase.last ?? column.lastStep];
  return { ...column, step: Math.max(column.step, first), lastStep: Math.min(column.lastStep, last) };
}

const FIND_OPTIONS: { value: Find; label: string }[] = [
  { value: "rl", label: "RL steps" },
  { value: "warm", label: "Warm start" },
  { value: "all", label: "All steps" },
];
const PHASE_WORDS = { "warm start": "the warm start", RL: "RL steps" } as const;

interface FinderProps {
  lane: Lane;
  track: MetricTrack;
  phase: PhaseSpan | null;
  isOn: boolean;
  onFind: () => void;
}

function Finder({ lane, track, phase, isOn, onFind }: FinderProps) {
  const hasAny = useSyncExternalStore(
    (listener) => track.onChange(listener),
    () => oddest(columnsIn(stripColumns(track), phase), lane.pick).length > 0,
  );
  const none =
    lane.pick === "most"
      ? `${lane.label}: 0 at every step${phase === null ? "" : ` of ${PHASE_WORDS[phase.name]}`}`
      : "No steps yet";
  return (
    <Toggle isOn={isOn} disabled={!hasAny} title={hasAny ? undefined : none} onClick={onFind}>
      {lane.find}
    </Toggle>
  );
}

/** A column of several steps was drawn for one of them: that one. */
async function exactStep(
  runId: string,
  lane: Lane,
  { step, lastStep }: { step: number; lastStep: number },
): Promise<number> {
  const { series } = await fetchHistory({
    runs: [runId],
    names: [lane.name],
    x: "step",
    from: step,
    to: lastStep + 1,
    maxPoints: 1000,
    agg: "none",
  });
  const columns = series.filter(({ superseded }) => !superseded);
  const steps = columns.flatMap((one) => one.step);
  const values = columns.flatMap((one) => one.value);
  return oddStep(steps, values, lane.pick) ?? step;
}

const PX_PER_TICK = 84;

function StripAxis({ numSteps }: { numSteps: number }) {
  const plot = useRef<HTMLDivElement>(null);
  const width = useWidth(plot);
  const place = (step: number) => (step + 0.5) / Math.max(1, numSteps);
  const most = Math.max(2, Math.floor(width / PX_PER_TICK));
  const ticks = numSteps > 1 ? countTicks(0, numSteps - 1, most) : numSteps === 1 ? [0] : [];
  return (
    <div className={styles.axis} aria-hidden="true">
      <div ref={plot} className={styles.axisPlot}>
        {ticks.map((tick) => (
          <span key={tick} style={{ left: `${place(tick) * 100}%` }}>
            {formatInteger(tick)}
          </span>
        ))}
      </div>
    </div>
  );
}
