/** The panels: pinned metrics, then groups by prefix. A closed group is one line with a count. */
import { type RefCallback, useId, useRef, useSyncExternalStore } from "react";
import { sampledCounts } from "@/components/chart/metric-track";
import { readingNear } from "@/components/chart/readings";
import { useCursor } from "@/components/chart/use-cursor";
import type { RunCharts } from "@/components/chart/use-run-charts";
import { xInWords } from "@/components/chart/x-labels";
import { Icon } from "@/components/icon";
import { formatInteger, formatRange } from "@/lib/numbers";
import styles from "./metric-grid.module.css";
import type { Arrangement, MetricGroup } from "./metric-groups";
import { MetricPanel, type MetricPanelProps, PANEL_POINTS } from "./metric-panel";

export interface MetricGridProps extends Omit<MetricPanelProps, "name"> {
  arrangement: Arrangement;
  isOpen: (group: MetricGroup) => boolean;
  onToggle: (group: MetricGroup) => void;
}

export function MetricGrid({ arrangement, isOpen, onToggle, ...panel }: MetricGridProps) {
  const { toggle, headRef } = useKeptFocus(onToggle);
  const open = arrangement.groups.filter(isOpen);
  const closed = arrangement.groups.filter((group) => !isOpen(group));
  return (
    <>
      {arrangement.pinned.length > 0 && <Pinned names={arrangement.pinned} {...panel} />}
      {open.map((group) => (
        <OpenGroup
          key={group.name}
          group={group}
          onToggle={toggle}
          headRef={headRef(group.name)}
          {...panel}
        />
      ))}
      {closed.length > 0 && (
        <div className={styles.closed}>
          {closed.map((group) => (
            <h2 key={group.name}>
              <button
                ref={headRef(group.name)}
                type="button"
                aria-expanded="false"
                onClick={() => toggle(group)}
              >
                <Icon name="right" />
                {group.name} <small>{formatInteger(group.metrics.length)}</small>
              </button>
            </h2>
          ))}
        </div>
      )}
    </>
  );
}

/** A group that is opened or closed moves to another place: the focus goes with it. */
function useKeptFocus(onToggle: (group: MetricGroup) => void) {
  const moved = useRef<string | null>(null);
  const toggle = (group: MetricGroup) => {
    moved.current = group.name;
    onToggle(group);
  };
  const headRef =
    (name: string): RefCallback<HTMLButtonElement> =>
    (head) => {
      if (!head || moved.current !== name || document.activeElement === head) return;
      moved.current = null;
      head.focus();
    };
  return { toggle, headRef };
}

type PanelProps = Omit<MetricPanelProps, "name">;

function Pinned({ names, ...panel }: PanelProps & { names: string[] }) {
  const id = useId();
  return (
    <section className={styles.group} aria-labelledby={id}>
      <div className={styles.head}>
        <h2 id={id}>
          <Icon name="pin" />
          Pinned <small>{formatInteger(names.length)}</small>
        </h2>
        <CursorNote names={names} charts={panel.charts} />
      </div>
      <div className={styles.grid}>
        {names.map((name) => (
          <MetricPanel key={name} name={name} {...panel} />
        ))}
      </div>
    </section>
  );
}

interface OpenGroupProps extends PanelProps {
  group: MetricGroup;
  onToggle: (group: MetricGroup) => void;
  headRef: RefCallback<HTMLButtonElement>;
}

function OpenGroup({ group, onToggle, headRef, ...panel }: OpenGroupProps) {
  const id = useId();
  return (
    <section className={styles.group} aria-labelledby={id}>
      <div className={styles.head}>
        <h2>
          <button ref={headRef} type="button" id={id} aria-expanded="true" onClick={() => onToggle(group)}>
            <Icon name="down" />
            {group.name} <small>{formatInteger(group.metrics.length)}</small>
          </button>
        </h2>
        <SampledNote names={group.metrics} charts={panel.charts} />
      </div>
      <div className={styles.grid}>
        {group.metrics.map((name) => (
          <MetricPanel key={name} name={name} {...panel} />
        ))}
      </div>
    </section>
  );
}

/** Which step the values in the heads are from. */
function CursorNote({ names, charts }: { names: readonly string[]; charts: RunCharts }) {
  const { group, history } = charts;
  const x = useCursor(group);
  if (x === null) {
    return (
      <span className={styles.note}>{group.followsNewest ? "newest values" : "last values in view"}</span>
    );
  }
  const known = names.flatMap((name) => history.known(name, PANEL_POINTS) ?? []);
  const reading = known.flatMap((track) => readingNear(track, x) ?? [])[0];
  const preposition = group.xKind === "relative" ? "after" : "at";
  return (
    <span className={styles.note}>
      {reading && reading.lastStep > reading.step
        ? `means of steps ${formatRange(reading.step, reading.lastStep)}`
        : `values ${preposition} ${xInWords(group.xKind, x, new Date())}`}
    </span>
  );
}

/** Told once for a group: its panels share the x axis and the number of points. The sparsest drawing counts. */
function SampledNote({ names, charts }: { names: string[]; charts: RunCharts }) {
  const { history, batch } = charts;
  const text = useSyncExternalStore(
    (listener) => {
      const stops = [history.onState(listener), batch.onChange(listener)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    () => {
      const counts = names.flatMap((name) => {
        const track = history.known(name, PANEL_POINTS);
        return (track && sampledCounts(track)) ?? [];
      });
      const most = counts.sort((a, b) => b.total - a.total)[0];
      return most ? `sampled: ${formatInteger(most.shown)} of ${formatInteger(most.total)}` : "";
    },
  );
  return <span className={styles.note}>{text}</span>;
}
