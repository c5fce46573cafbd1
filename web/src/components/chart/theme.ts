/** The colours and faces of the canvas, read from the tokens once per theme. Listeners hear of a change of theme. */

export interface ChartTheme {
  surface: string;
  text3: string;
  grid: string;
  cursor: string;
  metric: string;
  batch: string;
  bound: string;
  failed: string;
  hatch: string;
  cellLine: string;
  line3: string;
  stopping: string;
  font: string;
  seq: string[];
  div: string[];
  /** Of runs that are compared: lines, the ink of their names, dashes. */
  series: string[];
  seriesText: string[];
  dashes: number[][];
}

const SERIES = [1, 2, 3, 4, 5, 6, 7, 8];

function dashOf(token: string): number[] {
  return token === "none" ? [] : token.split(/\s+/).map(Number);
}

/** The ninth run has the first colour and the second dash, and so on. */
export function seriesStyle(
  theme: ChartTheme,
  series: number,
): { line: string; text: string; dash: number[] } {
  const count = SERIES.length;
  const colour = series % count;
  return {
    line: theme.series[colour] ?? theme.metric,
    text: theme.seriesText[colour] ?? theme.metric,
    dash: theme.dashes[(series + Math.floor(series / count)) % count] ?? [],
  };
}

let current: ChartTheme | null = null;
let isWatching = false;
const listeners = new Set<() => void>();

function read(): ChartTheme {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const scale = (name: string) => Array.from({ length: 7 }, (_, i) => token(`${name}-${i}`));
  return {
    surface: token("surface"),
    text3: token("text-3"),
    grid: token("grid"),
    cursor: token("cursor"),
    metric: token("metric"),
    batch: token("batch"),
    bound: token("bound"),
    failed: token("state-failed"),
    hatch: token("hatch"),
    cellLine: token("cell-line"),
    line3: token("line-3"),
    stopping: token("state-stopping"),
    font: token("font-sans"),
    seq: scale("seq"),
    div: scale("div"),
    series: SERIES.map((n) => token(`series-${n}`)),
    seriesText: SERIES.map((n) => token(`series-${n}-text`)),
    dashes: SERIES.map((n) => dashOf(token(`series-${n}-dash`))),
  };
}

function watch(): void {
  if (isWatching) return;
  isWatching = true;
  const changed = () => {
    current = null;
    for (const listener of listeners) listener();
  };
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

export function chartTheme(): ChartTheme {
  watch();
  current ??= read();
  return current;
}

/** Calls `listener` after each change of theme until the returned function is called. */
export function onThemeChange(listener: () => void): () => void {
  watch();
  listeners.add(listener);
  return () => listeners.delete(listener);
}
