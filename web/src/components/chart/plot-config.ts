/** What a plot shows and in which frame. Plain data, given by the pages. */
import type { MetricTrack } from "./metric-track";

/** `line`: ink, linear. `area`: batch size, stepped and filled. `floor`: a lower bound, filled and without a line. */
export type LineKind = "line" | "area" | "floor";
export type Side = "left" | "right";

export interface PlotLine {
  track: MetricTrack;
  kind: LineKind;
  side: Side;
  /** In sentences and tables: "loss". */
  label: string;
  /** Place among runs that are compared: a colour and a dash of its own, and its name at its end. */
  series?: number;
  /** A value holds until the next point. */
  isStepped?: boolean;
}

export interface PlotAxis {
  /** Whether 0 belongs to the axis. */
  fromZero: boolean;
  /** Ticks are fractions, written as %. */
  percent: boolean;
  /** Ticks are sizes: round in a binary unit, and written in it. */
  bytes?: boolean;
  integer: boolean;
  /** Whether "Log y" applies to it. */
  canBeLog: boolean;
  /** The part of a grid of `rows` equal rows that the axis fills, counted from below: two axes share one grid. */
  part?: { rows: number; from: number; to: number };
}

export interface PlotView {
  log: boolean;
  bands: boolean;
  /** Superseded attempts. */
  old: boolean;
  /** What an average keeps of itself per step; 0: off. */
  smoothing: number;
}

export interface PlotConfig {
  lines: readonly PlotLine[];
  left: PlotAxis;
  right: PlotAxis | null;
  view: PlotView;
  /** Whether superseded attempts are labelled: once per page is enough. */
  labelsOld: boolean;
  /** Points are moments, not steps: nothing is said of steps, and there is none to open. */
  isOverTime?: boolean;
}

/** Whether a value holds until the next point, as a batch size does: it is drawn stepped, to the end of the last step. */
export function holds(line: PlotLine): boolean {
  return line.kind === "area" || line.isStepped === true;
}

export const PLAIN_AXIS: PlotAxis = { fromZero: false, percent: false, integer: false, canBeLog: true };

export function axisOf(config: PlotConfig, side: Side): PlotAxis {
  return side === "right" && config.right ? config.right : config.left;
}

export function isLog(config: PlotConfig, side: Side): boolean {
  return config.view.log && axisOf(config, side).canBeLog;
}

/** Whether names stand at the ends of the lines. */
export function hasEndLabels({ lines }: PlotConfig): boolean {
  return lines.some(({ series }) => series !== undefined);
}

/** Pixels of the frame; never measured from labels, so that nothing moves. */
export const FRAME = { top: 8, bottom: 22, left: 48, right: 12, endLabels: 84 } as const;
/** The left gutter of figures over time: sizes such as `768 MiB` need the room, and all have the same x axis. */
const OVER_TIME_LEFT = 56;

export function leftGutter({ isOverTime }: PlotConfig): number {
  return isOverTime ? OVER_TIME_LEFT : FRAME.left;
}
