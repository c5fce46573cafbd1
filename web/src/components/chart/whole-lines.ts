/** The whole of each line while a part of it is shown, so that the frame can be moved over it before the finer points
 * of the new place are there. Used by `RunHistory`, after the answer that the reader waits for; a failure tells nobody,
 * for the part is there. */
import type { MetricHistory, StepsFrame } from "@/api/types";
import type { MetricTrack } from "./metric-track";

export interface WholeLinesSource {
  /** The history of these from the first to the newest point; they are few enough for one request. */
  fetch: (tracks: readonly MetricTrack[]) => Promise<MetricHistory>;
  append: (track: MetricTrack, frame: StepsFrame) => void;
}

export class WholeLines {
  private readonly source: WholeLinesSource;
  private readonly asked = new Set<MetricTrack>();
  private readonly buffers = new Set<StepsFrame[]>();
  /** An answer to a question from before the last `forget` tells of what is no longer so. */
  private epoch = 0;

  constructor(source: WholeLinesSource) {
    this.source = source;
  }

  /** Asks for the whole of those that are not on their way already. */
  async want(tracks: readonly MetricTrack[]): Promise<void> {
    const wanted = tracks.filter((track) => !this.asked.has(track));
    if (wanted.length === 0) return;
    for (const track of wanted) this.asked.add(track);
    const { epoch } = this;
    const buffer: StepsFrame[] = [];
    this.buffers.add(buffer);
    const answer = await this.source.fetch(wanted).catch(() => null);
    this.buffers.delete(buffer);
    if (epoch !== this.epoch) return;
    for (const track of wanted) this.asked.delete(track);
    if (answer) for (const track of wanted) this.take(track, answer, buffer);
  }

  private take(track: MetricTrack, { series }: MetricHistory, buffer: readonly StepsFrame[]): void {
    track.setWhole(series.filter(({ name }) => name === track.name));
    for (const frame of buffer) this.source.append(track, frame);
  }

  receive(frame: StepsFrame): void {
    for (const buffer of this.buffers) buffer.push(frame);
  }

  /** What was known of these, and what is on its way, is of another axis or of steps that were trained again. */
  forget(tracks: readonly MetricTrack[]): void {
    this.epoch += 1;
    this.asked.clear();
    for (const track of tracks) track.setWhole(null);
  }
}
