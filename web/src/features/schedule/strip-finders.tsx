/** The buttons that go to the oddest steps, and in which phase they look. */
import { useState, useSyncExternalStore } from "react";
import { Toggle } from "@/components/button";
import { BATCH_SIZE, DROPPED, IDLE, OVER_CAP } from "@/components/chart/metric-names";
import type { MetricTrack } from "@/components/chart/metric-track";
import { Segmented } from "@/components/segmented";
import { useShortcuts } from "@/lib/shortcuts";
import type { Find } from "./schedule-search";
import styles from "./step-strip.module.css";
import { columnsIn, oddest, type PhaseSpan, type StripColumn, stripColumns } from "./strip-columns";
import { exactStep, LANES, type Lane, type TrackOf } from "./strip-lanes";

/** Buttons in the order of what is looked for most. */
const FINDS = [IDLE, OVER_CAP, BATCH_SIZE, DROPPED].map(
  (name) => LANES.find((lane) => lane.name === name) as Lane,
);

export interface StripFindersProps {
  runId: string;
  selected: number | null;
  /** Null: there is nothing to choose from, the run has one phase. */
  find: Find | null;
  onFind: (find: Find) => void;
  /** Where it looks; null: everywhere. */
  phase: PhaseSpan | null;
  trackOf: TrackOf;
  goTo: GoTo;
}

/** Goes to the step once it is known; null: another one was asked for meanwhile. */
export type GoTo = (found: Promise<number>) => Promise<number | null>;

/** Each press goes to the next oddest step; a button stays pressed while its step is shown. */
export function StripFinders(props: StripFindersProps) {
  const { runId, selected, find: where, onFind, phase, trackOf, goTo } = props;
  const [found, setFound] = useState<{ lane: string; rank: number; step: number } | null>(null);
  const find = async (lane: Lane) => {
    const columns = oddest(columnsIn(stripColumns(trackOf(lane)), phase), lane.pick);
    const isAgain = found?.lane === lane.name && found.step === selected;
    const rank = isAgain ? (found.rank + 1) % columns.length : 0;
    const column = columns[rank];
    if (!column) return;
    const step = await goTo(exactStep(runId, lane, within(column, phase)));
    if (step !== null) setFound({ lane: lane.name, rank, step });
  };
  useShortcuts(
    Object.fromEntries(FINDS.flatMap((lane) => (lane.shortcut ? [[lane.shortcut, () => find(lane)]] : []))),
  );
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
    <Toggle
      isOn={isOn}
      disabled={!hasAny}
      title={hasAny ? lane.shortcut && `Key ${lane.shortcut}` : none}
      aria-keyshortcuts={lane.shortcut}
      onClick={onFind}
    >
      {lane.find}
    </Toggle>
  );
}
