/** Beside the lanes: what the time in view went into, and the longest waits in it. */
import type { XRange } from "@/components/chart/chart-group";
import { LoadingBars } from "@/components/loading-bars";
import { Panel } from "@/components/panel";
import { formatDuration } from "@/lib/durations";
import { formatCount, formatPercent } from "@/lib/numbers";
import { ACTIVITIES, LOOKS, WAITING } from "./activities";
import { fillOf } from "./activity-colours";
import styles from "./timeline.module.css";
import { type Lane, lanesByKind, longestWaits, secondsByActivity, type Timeline } from "./timeline-model";

const MOST_WAITS = 5;
/** What driver, engines and ranks of a usual run spend their time on. */
const TIME_ROWS = 11;
const FACT_ROW_PX = 26;

export interface TimelineFactsProps {
  timeline: Timeline;
  range: XRange;
  onWait: (from: number, to: number) => void;
}

export function TimelineFacts({ timeline, range, onWait }: TimelineFactsProps) {
  return (
    <>
      <ActivityPanel timeline={timeline} range={range} />
      <WaitPanel timeline={timeline} range={range} onWait={onWait} />
    </>
  );
}

/** In their places while the lanes are on their way. */
export function LoadingFacts() {
  return (
    <>
      <Panel title="Time in view" headingLevel={3} className={styles.panel}>
        <LoadingBars rows={TIME_ROWS} rowHeight={FACT_ROW_PX} />
      </Panel>
      <Panel title="Longest waits" headingLevel={3} className={styles.panel}>
        <LoadingBars rows={MOST_WAITS} rowHeight={FACT_ROW_PX} />
      </Panel>
    </>
  );
}

/** Shares of the time of all actors of each kind, so that many ranks do not hide two engines. */
function ActivityPanel({ timeline, range }: Omit<TimelineFactsProps, "onWait">) {
  const kinds = lanesByKind(timeline.lanes);
  return (
    <Panel
      title="Time in view"
      headingLevel={3}
      aside={formatDuration(range.to - range.from)}
      className={styles.panel}
    >
      {[...kinds].map(([kind, lanes]) => (
        <KindShares key={kind} kind={kind} lanes={lanes} range={range} />
      ))}
    </Panel>
  );
}

function KindShares({ kind, lanes, range }: { kind: string; lanes: readonly Lane[]; range: XRange }) {
  const whole = (range.to - range.from) * lanes.length;
  const seconds = secondsByActivity(lanes, range.from, range.to);
  const busy = [...seconds.values()].reduce((sum, one) => sum + one, 0);
  const shares = [
    ...[...seconds].map(([activity, spent]) => ({
      label: LOOKS[activity].label,
      colour: fillOf(activity),
      share: spent / whole,
    })),
    { label: WAITING, colour: null, share: Math.max(0, 1 - busy / whole) },
  ];
  return (
    <div className={styles.kind}>
      <h4>
        <bdi>{lanes.length === 1 ? (lanes[0]?.actor ?? kind) : formatCount(lanes.length, kind)}</bdi>
        <span className={styles.busyShare}>{formatPercent(Math.min(1, busy / whole))} busy</span>
      </h4>
      <div className={styles.meter} aria-hidden="true">
        {shares.map(({ label, colour, share }) => (
          <i
            key={label}
            data-waiting={colour === null || undefined}
            style={{ width: `${share * 100}%`, ...(colour !== null && { background: colour }) }}
          />
        ))}
      </div>
      <dl className={styles.shares}>
        {shares.map(({ label, colour, share }) => (
          <div key={label}>
            <dt>
              <i
                data-waiting={colour === null || undefined}
                style={colour === null ? undefined : { background: colour }}
              />
              {label}
            </dt>
            <dd>{formatPercent(share)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function WaitPanel({ timeline, range, onWait }: TimelineFactsProps) {
  const waits = longestWaits(timeline, range.from, range.to, MOST_WAITS);
  return (
    <Panel title="Longest waits" headingLevel={3} aside="in view" className={styles.panel}>
      {waits.length === 0 && <p className={styles.none}>Nobody waits.</p>}
      <ul className={styles.waits}>
        {waits.map(({ lane, from, to }) => (
          <li key={lane}>
            <button type="button" onClick={() => onWait(from, to)}>
              <bdi>{timeline.lanes[lane]?.actor}</bdi>
              <span className={styles.waited}>{formatDuration(to - from)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function TimelineLegend({ timeline }: { timeline: Timeline }) {
  const seen = new Set(timeline.lanes.flatMap(({ activity }) => activity));
  return (
    <div className={styles.legend}>
      {ACTIVITIES.filter((activity) => seen.has(activity)).map((activity) => (
        <span key={activity}>
          <i style={{ background: fillOf(activity) }} />
          {LOOKS[activity].label}
        </span>
      ))}
      <span>
        <i data-waiting />
        {WAITING}
      </span>
      <span className="wide-only">
        Drag moves, Ctrl and the wheel zoom, a double click goes into a box or a wait
      </span>
    </div>
  );
}
