/** How the charts are drawn: x axis, logarithm, bands, old attempts, smoothing; and which metrics. */
import { type ReactNode, type Ref, useEffect, useRef } from "react";
import { Button, Toggle } from "@/components/button";
import type { MetricTrack } from "@/components/chart/metric-track";
import { type RunCharts, useIsAxisComing } from "@/components/chart/use-run-charts";
import { X_OPTIONS } from "@/components/chart/x-axes";
import { FilterField } from "@/components/filter-field";
import { Segmented } from "@/components/segmented";
import { formatRange } from "@/lib/numbers";
import styles from "./overview-toolbar.module.css";
import type { RunSearch, RunSearchPatch } from "./run-search";

export interface OverviewToolbarProps {
  search: RunSearch;
  setSearch: (patch: RunSearchPatch) => void;
  charts: RunCharts;
  findRef: Ref<HTMLInputElement>;
  /** Choices that only some runs have. */
  children?: ReactNode;
}

export function OverviewToolbar({ search, setSearch, charts, findRef, children }: OverviewToolbarProps) {
  const x = search.x ?? "step";
  const isAxisComing = useIsAxisComing(charts.history, x);
  const smooth = search.smooth ?? 0;
  return (
    <div className={styles.bar} role="toolbar" aria-label="How the charts are drawn">
      <div className={styles.choices}>
        <span className={styles.label}>x axis</span>
        <Segmented
          label="x axis"
          options={X_OPTIONS}
          value={x}
          isBusy={isAxisComing}
          onChange={(next) => setSearch({ x: next, from: undefined, to: undefined })}
        />
        <Toggle isOn={search.log === true} onClick={() => setSearch({ log: !search.log })}>
          Log y
        </Toggle>
        <Toggle isOn={search.bands !== false} onClick={() => setSearch({ bands: search.bands === false })}>
          Bands
        </Toggle>
        <Toggle isOn={search.old !== false} onClick={() => setSearch({ old: search.old === false })}>
          Old attempts
        </Toggle>
        {children}
        <label className={styles.smoothing}>
          <span className={styles.label}>Smoothing</span>
          <input
            type="range"
            min={0}
            max={0.99}
            step={0.01}
            value={smooth}
            onChange={(event) => setSearch({ smooth: event.target.valueAsNumber })}
          />
          <output>{smooth === 0 ? "0" : smooth.toFixed(2)}</output>
        </label>
      </div>
      <div className={styles.find}>
        {search.from === undefined ? null : (
          <Button variant="ghost" onClick={() => setSearch({ from: undefined, to: undefined })}>
            Show all
          </Button>
        )}
        <StepsShown batch={charts.batch} />
        <FilterField
          ref={findRef}
          label="Find a metric"
          placeholder="Find a metric"
          icon="search"
          value={search.find ?? ""}
          onChange={(find) => setSearch({ find })}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            setSearch({ find: undefined });
            event.currentTarget.blur();
          }}
        />
      </div>
    </div>
  );
}

/** `Steps 0 to 1,284`, written in place while the run grows. */
function StepsShown({ batch }: { batch: MetricTrack }) {
  const element = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const write = () => {
      const { step, lastStep } = batch.columns;
      const [first, last] = [step[0], lastStep[lastStep.length - 1]];
      const text = first === undefined || last === undefined ? "" : `Steps ${formatRange(first, last)}`;
      if (element.current) element.current.textContent = text;
    };
    write();
    return batch.onChange(write);
  }, [batch]);
  return <span ref={element} className={styles.label} />;
}
