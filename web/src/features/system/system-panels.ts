/** The machine's figures as panels: which lines stand in which, and what their numbers mean. Pure. */

import type { SystemHistory, SystemSeries } from "@/api/types";
import type { TrackSeries } from "@/components/chart/metric-track";
import { formatBytes } from "@/lib/bytes";
import { formatInteger, formatMetric, formatPercent, MISSING, NBSP } from "@/lib/numbers";

export interface PanelLine {
  /** Process or GPU; empty: the machine. */
  of: string;
  series: TrackSeries;
}

export interface SystemPanelData {
  figure: SystemSeries["figure"];
  title: string;
  /** `of 125 GiB`; empty where nothing bounds it. */
  bound: string;
  isPercent: boolean;
  format: (value: number | null) => string;
  lines: PanelLine[];
  /** Lines that have no room: the busiest are drawn. */
  numHidden: number;
}

/** As many as can be told apart. */
const MOST_LINES = 8;
/** A pause longer than so many usual ones is a gap: the machine was not measured. */
const GAP_TIMES = 5;

interface Figure {
  figure: SystemSeries["figure"];
  title: string;
  isPercent?: boolean;
  format: (value: number) => string;
  bound?: (history: SystemHistory) => string;
}

const cores = (value: number) => `${value.toFixed(2)}${NBSP}cores`;

const FIGURES: readonly Figure[] = [
  {
    figure: "cpu_frac",
    title: "CPU",
    isPercent: true,
    format: formatPercent,
    bound: ({ num_cpus }) => (num_cpus === null ? "" : `of ${formatInteger(num_cpus)} cores`),
  },
  {
    figure: "memory_bytes",
    title: "Memory",
    format: formatBytes,
    bound: ({ memory_total_bytes }) =>
      memory_total_bytes === null ? "" : `of ${formatBytes(memory_total_bytes)}`,
  },
  {
    figure: "generated_tokens_per_s",
    title: "Generated tokens/s",
    format: (value) => formatMetric("tokens_per_s", value),
    bound: () => "all engines",
  },
  { figure: "process_cpu_cores", title: "CPU by process", format: cores, bound: () => "in cores" },
  { figure: "process_memory_bytes", title: "Memory by process", format: formatBytes },
  { figure: "gpu_utilization_frac", title: "GPU", isPercent: true, format: formatPercent },
  {
    figure: "gpu_memory_bytes",
    title: "GPU memory",
    format: formatBytes,
    bound: ({ gpu_memory_total_bytes }) => {
      const totals = [...new Set(Object.values(gpu_memory_total_bytes))];
      return totals.length === 1 ? `of ${formatBytes(totals[0] ?? 0)} each` : "";
    },
  },
];

/** Of the panels that every machine has; whether there are GPUs is known once it has told. */
export const USUAL_TITLES: readonly string[] = FIGURES.filter(({ figure }) => !figure.startsWith("gpu_")).map(
  ({ title }) => title,
);

/** Panels of what was measured at all, always in the same order. */
export function systemPanels(history: SystemHistory): SystemPanelData[] {
  return FIGURES.flatMap(({ figure, title, isPercent = false, format, bound }): SystemPanelData[] => {
    const all = history.series.filter(
      (one) => one.figure === figure && one.mean.some((value) => value !== null),
    );
    if (all.length === 0) return [];
    const shown = busiest(all);
    return [
      {
        figure,
        title,
        bound: bound?.(history) ?? "",
        isPercent,
        format: (value) => (value === null ? MISSING : format(value)),
        lines: shown.map((one) => ({ of: one.of ?? "", series: trackSeries(history, one) })),
        numHidden: all.length - shown.length,
      },
    ];
  });
}

function busiest(all: readonly SystemSeries[]): SystemSeries[] {
  if (all.length <= MOST_LINES) return [...all];
  const most = (one: SystemSeries) => Math.max(...one.max.map((value) => value ?? 0));
  const chosen = new Set([...all].sort((a, b) => most(b) - most(a)).slice(0, MOST_LINES));
  return all.filter((one) => chosen.has(one));
}

/** Points in time, with a gap where the machine was not measured for long. */
export function trackSeries({ at, sampled, total }: SystemHistory, { mean, max }: SystemSeries): TrackSeries {
  const rows: { x: number; value: number | null; high: number | null }[] = [];
  const pauses = at.slice(1).map((time, i) => time - (at[i] ?? 0));
  const usual = [...pauses].sort((a, b) => a - b)[Math.floor(pauses.length / 2)] ?? 0;
  at.forEach((x, i) => {
    const pause = pauses[i - 1] ?? 0;
    if (i > 0 && pause > GAP_TIMES * usual) rows.push({ x: x - pause / 2, value: null, high: null });
    rows.push({ x, value: mean[i] ?? null, high: max[i] ?? null });
  });
  const step = rows.map((_, i) => i);
  return {
    attempt: 1,
    superseded: false,
    total,
    sampled,
    x: rows.map(({ x }) => x),
    step,
    last_step: step,
    value: rows.map(({ value }) => value),
    min: null,
    max: sampled ? rows.map(({ value, high }) => high ?? value ?? 0) : null,
    non_finite: [],
  };
}
