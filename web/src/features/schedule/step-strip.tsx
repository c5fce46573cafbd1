/** All steps at once, to find the odd one: a click, or one of the buttons, goes to it. */
import { type MouseEvent, useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { problemSentence } from "@/api/problem";
import type { StepRow } from "@/api/types";
import type { MetricTrack } from "@/components/chart/metric-track";
import { HERO_POINTS, type RunCharts, useTrackState } from "@/components/chart/use-run-charts";
import { ProblemPanel } from "@/components/problem-panel";
import { formatInteger, MISSING } from "@/lib/numbers";
import type { Find } from "./schedule-search";
import styles from "./step-strip.module.css";
import { StripAxis, StripMarks } from "./strip-axis";
import { columnAt, findOf, spanOf, stripColumns } from "./strip-columns";
import { type GoTo, StripFinders } from "./strip-finders";
import { StripLane } from "./strip-lane";
import { exactStep, LANES, type Lane, type TrackOf } from "./strip-lanes";

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
  const { runId, charts, selected, row, warmsUp, firstRlStep, onFind } = props;
  const goTo = useGoTo(props.onSelect);
  const { history, batch } = charts;
  const trackOf = useTracks(charts);
  const inPhase = findOf(selected, firstRlStep);
  const find = inPhase && (props.find ?? inPhase);
  const state = useTrackState(history, batch);
  const reload = useCallback(() => history.reload(), [history]);
  return (
    <section className={styles.strip} aria-labelledby="strip-title">
      <div className={styles.head}>
        <h2 id="strip-title">All steps</h2>
        <StripNote batch={batch} />
        <StripFinders
          runId={runId}
          selected={selected}
          find={find}
          phase={spanOf(find, firstRlStep)}
          onFind={onFind}
          trackOf={trackOf}
          goTo={goTo}
        />
      </div>
      {state.kind === "failed" ? (
        <div className={styles.failed} data-phases={warmsUp || undefined}>
          <ProblemPanel
            title="The steps did not load"
            detail={problemSentence(state.error)}
            onRetry={reload}
            retryAfterS={RETRY_S}
            headingLevel={3}
          />
        </div>
      ) : (
        <div className={styles.lanes} data-phases={warmsUp || undefined}>
          <Lanes
            runId={runId}
            batch={batch}
            trackOf={trackOf}
            selected={selected}
            row={row}
            firstRlStep={firstRlStep}
            goTo={goTo}
          />
        </div>
      )}
    </section>
  );
}

/** Of the steps that are looked up one after another the last one is gone to, if the page is still there. */
function useGoTo(onSelect: (step: number) => void): GoTo {
  const latest = useRef(onSelect);
  useEffect(() => {
    latest.current = onSelect;
  });
  const numAsked = useRef(0);
  useEffect(() => {
    return () => {
      numAsked.current += 1;
    };
  }, []);
  return useCallback(async (found) => {
    numAsked.current += 1;
    const number = numAsked.current;
    const step = await found;
    if (number !== numAsked.current) return null;
    latest.current(step);
    return step;
  }, []);
}

function useTracks({ history }: RunCharts): TrackOf {
  const tracks = useMemo(
    () => new Map(LANES.map(({ name }) => [name, history.want(name, HERO_POINTS)])),
    [history],
  );
  return (lane) => tracks.get(lane.name) as MetricTrack;
}

interface LanesProps extends Pick<StepStripProps, "runId" | "selected" | "row" | "firstRlStep"> {
  goTo: GoTo;
  batch: MetricTrack;
  trackOf: TrackOf;
}

function Lanes({ runId, batch, trackOf, selected, row, firstRlStep, goTo }: LanesProps) {
  const numSteps = useCallback(() => batch.lastStep + 1, [batch]);
  const count = useSyncExternalStore((listener) => batch.onChange(listener), numSteps);
  const onClick = (event: MouseEvent<HTMLElement>, lane: Lane) => {
    const plot = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - plot.left) / plot.width) * count);
    const column = columnAt(stripColumns(trackOf(lane)), Math.min(count - 1, Math.max(0, at)));
    if (column) void goTo(exactStep(runId, lane, column));
  };
  return (
    <>
      {LANES.map((lane) => (
        <div key={lane.name} className={styles.lane} data-lane={lane.kind}>
          <span className={styles.label}>{lane.label}</span>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the arrow keys go from step to step, the buttons to the odd ones */}
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the reason above */}
          <div className={styles.plot} onClick={(event) => onClick(event, lane)}>
            <StripLane track={trackOf(lane)} kind={lane.kind} full={lane.full ?? 0} numSteps={numSteps} />
          </div>
          <span className={styles.value}>{row ? lane.value(row) : MISSING}</span>
        </div>
      ))}
      <StripAxis numSteps={count} />
      <StripMarks numSteps={count} firstRlStep={firstRlStep} selected={selected} />
    </>
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
