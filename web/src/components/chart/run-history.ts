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
import type { XRange } from "./chart-group";
import { fromStep } from "./from-step";
import { MetricTrack } from "./metric-track";
import { WholeLines } from "./whole-lines";

export type TrackState = { kind: "loading" } | { kind: "ready" } | { kind: "failed"; error: unknown };

export interface HistoryView {
  x: XAxis;
  range: XRange | null;
  /** What was trained before this step is not there. */
  firstStep?: number;
}

export type FetchHistory = (request: HistoryRequest, signal: AbortSignal) => Promise<MetricHistory>;

interface Wanted {
  track: MetricTrack;
  maxPoints: number;
  state: TrackState;
  /** Number of the request whose answer the track holds: an older answer that comes late changes nothing. */
  answered: number;
}

/** So many names fit into one address. */
const NAMES_PER_REQUEST = 30;
/** Live points that may stand behind buckets before the whole is asked for again, as a share of maxPoints. */
const TAIL_SHARE = 0.1;
/** An attempt that begins may report many steps at once: one question for all of them. */
const RELOAD_DELAY_MS = 250;

export class RunHistory {
  private readonly wanted: Wanted[] = [];
  private readonly queue = new Set<Wanted>();
  private readonly buffers = new Set<StepsFrame[]>();
  private readonly listeners = new Set<() => void>();
  private readonly axisListeners = new Set<(x: XAxis) => void>();
  private readonly frameListeners = new Set<(frame: StepsFrame) => void>();
  /** What was asked for last, and what the tracks hold. They differ while an axis is on its way. */
  private view: HistoryView;
  private shown: HistoryView;
  private isStarted = false;
  private hasAnswer = false;
  private numRequests = 0;
  /** First request of the newest change of axis; one that was asked for again is dropped. */
  private switching = 0;
  private later: Wanted[] = [];
  private generation = new AbortController();
  private timer: ReturnType<typeof setTimeout> | null = null;
  private readonly runId: string;
  private readonly fetch: FetchHistory;
  private readonly wholes = new WholeLines({
    fetch: (tracks) => this.fetchWhole(tracks),
    append: (track, frame) => this.append(track, frame),
  });

  constructor(runId: string, view: HistoryView, fetch: FetchHistory) {
    this.runId = runId;
    this.view = view;
    this.shown = view;
    this.fetch = fetch;
  }

  /** The track of a metric. Its history is asked for with all others that are wanted in the same moment; `later`: not
   * before the first answer is there, for what the first picture does not need. */
  want(name: string, maxPoints: number, later = false): MetricTrack {
    const known = this.known(name, maxPoints);
    if (known) return known;
    const wanted: Wanted = { track: new MetricTrack(name), maxPoints, state: LOADING, answered: 0 };
    this.wanted.push(wanted);
    if (later && !this.hasAnswer) this.later.push(wanted);
    else if (this.isStarted) this.enqueue([wanted], 0);
    return wanted.track;
  }

  /** The same without asking for it. */
  known(name: string, maxPoints: number): MetricTrack | null {
    return this.wanted.find((one) => one.track.name === name && one.maxPoints === maxPoints)?.track ?? null;
  }

  /** The axis of the points that are there; another may be on its way. */
  get axis(): XAxis {
    return this.shown.x;
  }

  stateOf(track: MetricTrack): TrackState {
    return this.wanted.find((wanted) => wanted.track === track)?.state ?? LOADING;
  }

  /** Calls back when the state of any name changed, or the axis. */
  onState(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls back with every frame, after it was appended. */
  onFrame(listener: (frame: StepsFrame) => void): () => void {
    this.frameListeners.add(listener);
    return () => this.frameListeners.delete(listener);
  }

  /** Asks for another axis or range, or from another first step on. The tracks keep the old points until the new ones
   * are there. */
  setView(view: HistoryView): void {
    const { x, range, firstStep } = this.view;
    const isOfSameSteps = view.firstStep === firstStep;
    const isOfSameRange = view.range?.from === range?.from && view.range?.to === range?.to;
    if (view.x === x && isOfSameRange && isOfSameSteps) return;
    this.view = view;
    if (view.x === this.shown.x) {
      this.shown = view;
      if (isOfSameSteps) this.askAll(0);
      else this.reload();
    } else void this.switchAxis();
  }

  /** Calls back when the points are about to be those of another axis, all at once. */
  onAxis(listener: (x: XAxis) => void): () => void {
    this.axisListeners.add(listener);
    return () => this.axisListeners.delete(listener);
  }

  /** Asks for everything again: after frames were missed, or when a new attempt trains known steps again. */
  reload(delayMs = 0): void {
    this.wholes.forget(this.wanted.map(({ track }) => track));
    this.askAll(delayMs);
  }

  private askAll(delayMs: number): void {
    // What nobody asked for yet cannot be old.
    this.enqueue(
      this.wanted.filter((one) => !this.later.includes(one)),
      delayMs,
    );
  }

  retry(track: MetricTrack): void {
    this.enqueue(
      this.wanted.filter((wanted) => wanted.track === track),
      0,
    );
  }

  /** Asks for what is wanted, from now until the returned function is called. Frames may be received before. */
  start(): () => void {
    this.isStarted = true;
    this.generation = new AbortController();
    this.enqueue(
      this.wanted.filter((one) => one.state.kind !== "ready" && !this.later.includes(one)),
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
    this.wholes.receive(frame);
    const ready = this.wanted.filter(({ state }) => state.kind === "ready");
    if (ready.some(({ track }) => contradicts(track, frame))) this.reload(RELOAD_DELAY_MS);
    else for (const { track } of ready) this.append(track, frame);
    const crowded = ready.filter(isCrowded);
    if (crowded.length > 0) this.enqueue(crowded, RELOAD_DELAY_MS);
    this.wantWholes(ready.filter(isWholeCrowded));
    for (const listener of this.frameListeners) listener(frame);
  }

  private append(track: MetricTrack, frame: StepsFrame): void {
    const values = frame.metrics[track.name];
    if (!values) return;
    const { x, firstStep = 0 } = this.shown;
    const xs = frame[x];
    frame.step.forEach((step, i) => {
      if (step < firstStep) return;
      track.append({ attempt: frame.attempt, x: xs[i] as number, step, value: values[i] ?? null });
    });
  }

  // Requests

  private enqueue(wanted: readonly Wanted[], delayMs: number): void {
    for (const one of wanted) this.queue.add(one);
    if (this.timer !== null || this.queue.size === 0) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.flush();
    }, delayMs);
  }

  private flush(): void {
    // An axis that is on its way is asked for as a whole: nothing may come before it, nor from before the reload.
    if (this.view.x !== this.shown.x) {
      void this.switchAxis();
      return;
    }
    const wanted = [...this.queue];
    this.queue.clear();
    for (const asked of inRequests(wanted)) void this.ask(asked, this.view).then((apply) => apply());
  }

  /** Charts share their x axis, so that the points of a new one must not come one by one. */
  private async switchAxis(): Promise<void> {
    const { view } = this;
    this.queue.clear();
    const asked = inRequests(this.wanted.filter((one) => !this.later.includes(one)));
    const first = this.numRequests + 1;
    this.switching = first;
    const isNewest = () => view === this.view && this.switching === first;
    const answers = await Promise.all(asked.map((some) => this.ask(some, view, isNewest)));
    if (isNewest()) {
      this.shown = view;
      this.wholes.forget(this.wanted.map(({ track }) => track));
      for (const listener of this.axisListeners) listener(view.x);
    }
    for (const apply of answers) apply();
  }

  /** Fetches, and returns what puts the answer into the tracks. One that nobody waits for any more changes nothing. */
  private async ask(
    asked: Wanted[],
    view: HistoryView,
    isAwaited = () => view === this.view,
  ): Promise<() => void> {
    const { signal } = this.generation;
    const number = ++this.numRequests;
    const buffer: StepsFrame[] = [];
    this.buffers.add(buffer);
    const apply = (take: (news: Wanted[]) => void) => () => {
      this.buffers.delete(buffer);
      if (!isAwaited() || signal.aborted) return;
      const news = asked.filter((one) => one.answered < number);
      for (const one of news) one.answered = number;
      take(news);
    };
    try {
      const history = await this.fetch(this.request(asked, view), signal);
      return apply((news) => this.take(news, history, { buffer, view }));
    } catch (error) {
      return apply((news) => this.setStates(news, { kind: "failed", error }));
    }
  }

  private request(asked: Wanted[], { x, range }: HistoryView): HistoryRequest {
    return {
      runs: [this.runId],
      names: asked.map(({ track }) => track.name),
      x,
      maxPoints: asked[0]?.maxPoints ?? 0,
      agg: "minmax",
      superseded: true,
      ...(range && { from: range.from }),
      ...(range && Number.isFinite(range.to) && { to: range.to }),
    };
  }

  private take(
    asked: Wanted[],
    history: MetricHistory,
    { buffer, view }: { buffer: readonly StepsFrame[]; view: HistoryView },
  ): void {
    for (const { track } of asked) {
      const series = history.series.filter(({ name }) => name === track.name);
      track.setHistory(fromStep(series, view.firstStep ?? 0), view.range);
      if (buffer.some((frame) => contradicts(track, frame))) this.reload(RELOAD_DELAY_MS);
      else for (const frame of buffer) this.append(track, frame);
    }
    this.setStates(asked, READY);
    this.wantWholes(asked.filter(({ track }) => track.isPart && !track.whole));
  }

  // The whole of the lines, while a part is shown

  private wantWholes(wanted: readonly Wanted[]): void {
    for (const asked of inRequests(wanted)) void this.wholes.want(asked.map(({ track }) => track));
  }

  private async fetchWhole(tracks: readonly MetricTrack[]): Promise<MetricHistory> {
    const asked = this.wanted.filter(({ track }) => tracks.includes(track));
    const { x, firstStep = 0 } = this.shown;
    const whole = await this.fetch(this.request(asked, { x, range: null }), this.generation.signal);
    return { ...whole, series: fromStep(whole.series, firstStep) };
  }

  private setStates(asked: Wanted[], state: TrackState): void {
    for (const wanted of asked) wanted.state = state;
    this.hasAnswer = true;
    this.enqueue(this.later, 0);
    this.later = [];
    for (const listener of this.listeners) listener();
  }
}

const LOADING: TrackState = { kind: "loading" };
const READY: TrackState = { kind: "ready" };

/** What comes in one answer: as many points each. The charts with most points, which are looked at first, begin. */
function inRequests(wanted: readonly Wanted[]): Wanted[][] {
  const byPoints = new Map<number, Wanted[]>();
  for (const one of wanted) byPoints.set(one.maxPoints, [...(byPoints.get(one.maxPoints) ?? []), one]);
  return [...byPoints]
    .sort(([a], [b]) => b - a)
    .flatMap(([, all]) =>
      Array.from({ length: Math.ceil(all.length / NAMES_PER_REQUEST) }, (_, i) =>
        all.slice(i * NAMES_PER_REQUEST, (i + 1) * NAMES_PER_REQUEST),
      ),
    );
}

/** Whether a frame trains steps again that the line has from another attempt: the line is no longer what is current. */
function contradicts(track: MetricTrack, frame: StepsFrame): boolean {
  const first = frame.step[0];
  const { newestAttempt, newestStep } = track;
  if (first === undefined || newestAttempt === 0 || frame.attempt === newestAttempt) return false;
  return frame.attempt < newestAttempt || first <= newestStep;
}

/** Whether so many live points were added that buckets would be truer than the points. */
function isCrowded({ track, maxPoints }: Wanted): boolean {
  const spare = maxPoints * TAIL_SHARE;
  return track.sampled ? track.tail > spare : track.columns.x.length > maxPoints + spare;
}

function isWholeCrowded({ track, maxPoints }: Wanted): boolean {
  return track.isPart && track.wholeTail > maxPoints * TAIL_SHARE;
}
