/** The table behind a chart: every point that is drawn, and those that no line can show. */
import { Fragment, useEffect, useRef } from "react";
import { Button } from "@/components/button";
import { classNames } from "@/lib/class-names";
import { formatMetric, formatRange } from "@/lib/numbers";
import styles from "./chart.module.css";
import type { ChartGroup } from "./chart-group";
import type { PlotConfig, PlotLine } from "./plot-config";
import { type Reading, readingAt } from "./readings";
import { xInWords } from "./x-labels";

export interface ChartTableProps {
  config: PlotConfig;
  group: ChartGroup;
  label: string;
  onClose: () => void;
  className?: string | undefined;
}

interface Row {
  x: number;
  steps: string;
  readings: (Reading | null)[];
}

export function ChartTable({ config, group, label, onClose, className }: ChartTableProps) {
  const rows = tableRows(config.lines, group);
  const now = new Date();
  const region = useRef<HTMLElement>(null);
  useEffect(() => region.current?.focus(), []);
  const isSampled = config.lines.map(({ track }) => track.sampled);
  return (
    <div className={classNames(styles.chart, styles.table, className)}>
      <Button className={styles.close} onClick={onClose}>
        Back to the chart
      </Button>
      <section
        className={styles.scroll}
        ref={region}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        onKeyDown={(event) => {
          if (event.key !== "t" && event.key !== "Escape") return;
          event.preventDefault();
          onClose();
        }}
        aria-label={`${label}, table`}
      >
        <table>
          <caption className="sr-only">{label}</caption>
          <thead>
            <tr>
              {!config.isOverTime && <th scope="col">Step</th>}
              {group.xKind !== "step" && <th scope="col">{group.xKind}</th>}
              {config.lines.map((line, i) => (
                <Fragment key={line.label}>
                  <th scope="col">{line.label}</th>
                  {isSampled[i] && <th scope="col">min</th>}
                  {isSampled[i] && <th scope="col">max</th>}
                </Fragment>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.x} ${row.steps}`}>
                {!config.isOverTime && <th scope="row">{row.steps}</th>}
                {group.xKind !== "step" && <td>{xInWords(group.xKind, row.x, now)}</td>}
                {config.lines.map(({ track, label: name }, i) => (
                  <Fragment key={name}>
                    <td>{formatMetric(track.name, row.readings[i]?.value)}</td>
                    {isSampled[i] && <td>{formatMetric(track.name, row.readings[i]?.low)}</td>}
                    {isSampled[i] && <td>{formatMetric(track.name, row.readings[i]?.high)}</td>}
                  </Fragment>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

/** One row per point or bucket in range; lines that have a point at the same first step, or, of several runs, at the
 * same x, share it. */
function tableRows(lines: readonly PlotLine[], group: ChartGroup): Row[] {
  const { from, to } = group.range();
  const rows = new Map<number, Row>();
  const isOfRuns = lines.some(({ series }) => series !== undefined);
  lines.forEach(({ track }, i) => {
    track.columns.x.forEach((x, at) => {
      const reading = x >= from && x <= to ? readingAt(track, at) : null;
      if (!reading) return;
      const key = isOfRuns ? x : reading.step;
      const row = rows.get(key) ?? {
        x,
        steps: formatRange(reading.step, reading.lastStep),
        readings: lines.map(() => null),
      };
      row.readings[i] = reading;
      rows.set(key, row);
    });
  });
  return [...rows.values()].sort((a, b) => a.x - b.x);
}
