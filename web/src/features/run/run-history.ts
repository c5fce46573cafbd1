/** The metrics of one run as the overview's charts draw them: asked for in few requests, then grown by the live stream.
 *
 *      want(name) ──► one request for all names of the moment ──► track.setHistory
 *      frames ─────► tracks that are there, and the buffer of each request under way ──► track.append
 *
 * A frame that arrives while a history is on its way is appended after it; a step is taken once, by its number. Nothing
 * passes through React but the state of each name (loading, ready, failed).
 */
import type { HistoryRequest } from "@/api/history";
import type { MetricHistory, StepsFrame, XAxis } from "@/api/types";
import type { XRange } from "@/components/chart/chart-group";
import { MetricTrack } from "@/components/chart/metric-track";

export type TrackState = { kind: "loading" } | { kind: "ready" } | { kind: "failed"; error: unknown };

export interface HistoryView {
  x: XAxis;
  range: XRange | null;
}

export type FetchHistory = (request: HistoryRequest, signal: AbortSignal) => Promise<MetricHistory>;

interface Asked {
  names: string[];
  maxPoints: number;
}

interface Wanted {
  track: MetricTrack;
  maxPoints: number;
  state: TrackState;
}

/** So many names fit into one address. */
const NAMES_PER_REQUEST = 30;
/** Live points that may stand behind buckets before the whole is asked for again, as a share of maxPoints. */
const TAIL_SHARE = 0.1;
/** An attempt that begins may report many steps at once: one question for all of them. */
const RELOAD_DELAY_MS = 250;

export class RunHistory {
  private readonly wanted = new Map<string, Wanted>();
  private readonly queue = new Set<string>();
  private readonly buffers = new Set<StepsFrame[]>();
  private readonly listeners = new Set<() => void>();
  private readonly axisListeners = new Set<(x: XAxis) => void>();
  private readonly frameListeners = new Set<(frame: StepsFrame) => void>();
  /** What was asked for last, and what the tracks hold. They differ while an axis is on its way. */
  private view: HistoryView;
  private shown: HistoryView;
  private isStarted = false;
  private generation = new AbortController();
  private timer: ReturnType<typeof setTimeout> | null = null;
  private readonly runId: string;
  private readonly fetch: FetchHistory;

  constructor(runId: string, view: HistoryView, fetch: FetchHistory) {
    this.runId = runId;
    this.view = view;
    this.shown = view;
    this.fetch = fetch;
  }

  /** The track of a metric. Its history is asked for with all others that are wanted in the same moment. */
  want(name: string, maxPoints: number): MetricTrack {
    const known = this.wanted.get(name);
    if (known) return known.track;
    const track = new MetricTrack(name);
    this.wanted.set(name, { track, maxPoints, state: { kind: "loading" } });
    if (this.isStarted) this.enqueue([name], 0);
    return track;
  }

  /** The track of a metric if it is wanted. */
  trackOf(name: string): MetricTrack | null {
    return this.wanted.get(name)?.track ?? null;
  }

  stateOf(name: string): TrackState {
    return this.wanted.get(name)?.state ?? LOADING;
  }

  /** Calls back when the state of any name changed. */
  onState(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls back with every frame, after it was appended. */
  onFrame(listener: (frame: StepsFrame) => void): () => void {
    this.frameListeners.add(listener);
    return () => this.frameListeners.delete(listener);
  }

  /** Asks for another axis or range. The tracks keep the old points until the new ones are there. */
  setView(view: HistoryView): void {
    const { x, range } = this.view;
    if (view.x === x && view.range?.from === range?.from && view.range?.to === range?.to) return;
    this.view = view;
    if (view.x === this.shown.x) {
      this.shown = view;
      this.reload();
    } else void this.switchAxis(view);
  }

  /** Calls back when the points are about to be those of another axis, all at once. */
  onAxis(listener: (x: XAxis) => void): () => void {
    this.axisListeners.add(listener);
    return () => this.axisListeners.delete(listener);
  }

  /** Asks for everything again: after frames were missed, or when a new attempt trains known steps again. */
  reload(delayMs = 0): void {
    this.enqueue([...this.wanted.keys()], delayMs);
  }

  retry(name: string): void {
    this.enqueue([name], 0);
  }

  /** Asks for what is wanted, from now until the returned function is called. Frames may be received before. */
  start(): () => void {
    this.isStarted = true;
    this.generation = new AbortController();
    const missing = [...this.wanted].filter(([, { state }]) => state.kind !== "ready");
    this.enqueue(
      missing.map(([name]) => name),
      0,
    );
    return () => {
      this.isStarted = false;
      this.generation.abort();
      if (this.timer !== null) clearTimeout(this.timer);
      this.timer = null;
    };
  }

  // Live

  receive(frame: StepsFrame): void {
    for (const buffer of this.buffers) buffer.push(frame);
    const tracks = [...this.wanted.values()].filter(({ state }) => state.kind === "ready");
    if (tracks.some(({ track }) => contradicts(track, frame))) this.reload(RELOAD_DELAY_MS);
    else for (const { track } of tracks) this.append(track, frame);
    const crowded = tracks.filter(isCrowded).map(({ track }) => track.name);
    if (crowded.length > 0) this.enqueue(crowded, RELOAD_DELAY_MS);
    for (const listener of this.frameListeners) listener(frame);
  }

  private append(track: MetricTrack, frame: StepsFrame): void {
    const values = frame.metrics[track.name];
    if (!values) return;
    const xs = frame[this.shown.x];
    const end = this.shown.range?.to ?? Number.POSITIVE_INFINITY;
    frame.step.forEach((step, i) => {
      const x = xs[i] as number;
      if (x < end) track.append({ attempt: frame.attempt, x, step, value: values[i] ?? null });
    });
  }

  // Requests

  private enqueue(names: readonly string[], delayMs: number): void {
    for (const name of names) this.queue.add(name);
    if (this.timer !== null) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.flush();
    }, delayMs);
  }

  private flush(): void {
    const names = [...this.queue];
    this.queue.clear();
    for (const request of this.requests(names)) void this.ask(request, this.view).then((apply) => apply());
  }

  /** Names that come in one answer. The chart with most points is the one that is looked at first. */
  private requests(names: readonly string[]): Asked[] {
    const byPoints = new Map<number, string[]>();
    for (const name of names) {
      const points = this.wanted.get(name)?.maxPoints ?? 0;
      byPoints.set(points, [...(byPoints.get(points) ?? []), name]);
    }
    return [...byPoints]
      .sort(([a], [b]) => b - a)
      .flatMap(([maxPoints, all]) =>
        Array.from({ length: Math.ceil(all.length / NAMES_PER_REQUEST) }, (_, i) => ({
          names: all.slice(i * NAMES_PER_REQUEST, (i + 1) * NAMES_PER_REQUEST),
          maxPoints,
        })),
      );
  }

  /** Charts share their x axis, so that the points of a new one must not come one by one. */
  private async switchAxis(view: HistoryView): Promise<void> {
    const requests = this.requests([...this.wanted.keys()]);
    const answers = await Promise.all(requests.map((request) => this.ask(request, view)));
    if (view !== this.view) return;
    this.shown = view;
    for (const listener of this.axisListeners) listener(view.x);
    for (const apply of answers) apply();
  }

  /** Fetches, and returns what puts the answer into the tracks. An answer to an older view changes nothing. */
  private async ask({ names, maxPoints }: Asked, view: HistoryView): Promise<() => void> {
    const { signal } = this.generation;
    const buffer: StepsFrame[] = [];
    this.buffers.add(buffer);
    const apply = (take: () => void) => () => {
      this.buffers.delete(buffer);
      if (view === this.view && !signal.aborted) take();
    };
    try {
      const history = await this.fetch(this.request(names, maxPoints, view), signal);
      return apply(() => this.take(names, history, buffer));
    } catch (error) {
      return apply(() => this.setStates(names, { kind: "failed", error }));
    }
  }

  private request(names: string[], maxPoints: number, { x, range }: HistoryView): HistoryRequest {
    return {
      runs: [this.runId],
      names,
      x,
      maxPoints,
      agg: "minmax",
      superseded: true,
      ...(range && { from: range.from, to: range.to }),
    };
  }

  private take(names: string[], history: MetricHistory, buffer: StepsFrame[]): void {
    for (const name of names) {
      const track = this.wanted.get(name)?.track;
      if (!track) continue;
      track.setHistory(history.series.filter((series) => series.name === name));
      for (const frame of buffer) this.append(track, frame);
    }
    this.setStates(names, READY);
  }

  private setStates(names: string[], state: TrackState): void {
    for (const name of names) {
      const wanted = this.wanted.get(name);
      if (wanted) wanted.state = state;
    }
    for (const listener of this.listeners) listener();
  }
}

const LOADING: TrackState = { kind: "loading" };
const READY: TrackState = { kind: "ready" };

/** Whether a frame trains steps again that the line has from another attempt: the line is no longer what is current. */
function contradicts(track: MetricTrack, frame: StepsFrame): boolean {
  const first = frame.step[0];
  if (first === undefined || track.attempt === 0 || frame.attempt === track.attempt) return false;
  return frame.attempt < track.attempt || first <= track.lastStep;
}

/** Whether so many live points were added that buckets would be truer than the points. */
function isCrowded({ track, maxPoints }: Wanted): boolean {
  const spare = maxPoints * TAIL_SHARE;
  return track.sampled ? track.tail > spare : track.columns.x.length > maxPoints + spare;
}
