/** What the charts of one page share: x axis, range, cursor, and one redraw per animation frame. Knows no canvas. */

export type XKind = "step" | "samples" | "tokens" | "time" | "relative";

export interface XRange {
  from: number;
  /** As what is asked for, Infinity: up to the newest point, wherever it comes to be. */
  to: number;
}

export interface GroupMember {
  /** Draws what changed. Called at most once per frame, and only while `isReady`. */
  redraw(): void;
  readonly isReady: boolean;
}

/** Empty space right of the newest point while more may come. */
const LIVE_MARGIN = 0.01;
/** So long after the last movement of a wheel or a key the range stands. */
const REST_MS = 160;
/** Points that come from many answers or runs at once are drawn together: one redraw in so many milliseconds. */
const NEWS_MS = 120;
let groups = 0;

export class ChartGroup {
  /** Key under which the charts' cursors are in step. */
  readonly key: string;
  private kind: XKind;
  private mayGrow = false;
  private zoom: XRange | null = null;
  private known: XRange | null = null;
  private cursorX: number | null = null;
  private members = new Set<GroupMember>();
  private dirty = new Set<GroupMember>();
  private frame = 0;
  private news = new Set<GroupMember>();
  private newsTimer: ReturnType<typeof setTimeout> | null = null;
  private restTimer: ReturnType<typeof setTimeout> | null = null;
  private isStopped = false;
  /** The axis that was asked for and is not there yet. */
  private coming: XKind | null = null;
  private cursorListeners = new Set<(x: number | null) => void>();

  constructor(kind: XKind = "step") {
    this.kind = kind;
    groups += 1;
    this.key = `charts-${groups}`;
  }

  add(member: GroupMember): void {
    this.members.add(member);
    this.invalidate(member);
  }

  remove(member: GroupMember): void {
    this.members.delete(member);
    this.dirty.delete(member);
    this.news.delete(member);
  }

  /** Asks for a redraw of one chart in the next frame. */
  invalidate(member: GroupMember): void {
    this.dirty.add(member);
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.flush());
  }

  /** The same for points that came: the first at once, those right behind it together. */
  announce(member: GroupMember): void {
    this.news.add(member);
    if (this.newsTimer === null) this.drawNews();
  }

  private drawNews(): void {
    for (const member of this.news) this.invalidate(member);
    this.news.clear();
    this.newsTimer = setTimeout(() => {
      this.newsTimer = null;
      if (this.news.size > 0) this.drawNews();
    }, NEWS_MS);
  }

  invalidateAll(): void {
    for (const member of this.members) this.invalidate(member);
  }

  private flush(): void {
    this.frame = 0;
    for (const member of [...this.dirty]) {
      // A chart off the screen, or in a hand, stays dirty: it is drawn when it comes near, or is let go.
      if (!member.isReady) continue;
      this.dirty.delete(member);
      member.redraw();
    }
  }

  /** What the x axis counts. The domain of another axis means nothing on this one. */
  setXKind(kind: XKind): void {
    this.coming = null;
    if (kind === this.kind) return;
    this.halt();
    this.kind = kind;
    this.known = null;
    this.setCursor(null);
    this.invalidateAll();
  }

  /** Another axis is on its way: until it is there no hand moves the range, which would be read on the wrong one. */
  expectXKind(kind: XKind): void {
    this.coming = kind === this.kind ? null : kind;
    if (this.coming) this.halt();
  }

  get xKind(): XKind {
    return this.kind;
  }

  /** The axis that a hand reads, and on which it may choose a range; null: another one is on its way. */
  get settledXKind(): XKind | null {
    return this.coming === null ? this.kind : null;
  }

  /** Whether more points may come. */
  setLive(isLive: boolean): void {
    if (isLive === this.mayGrow) return;
    this.mayGrow = isLive;
    this.invalidateAll();
  }

  get isLive(): boolean {
    return this.mayGrow;
  }

  /** All x there are; `null` while nothing is known. Charts with fewer points keep the same axis. */
  setDomain(domain: XRange | null): void {
    if (domain?.from === this.known?.from && domain?.to === this.known?.to) return;
    this.known = domain;
    if (this.followsNewest) this.invalidateAll();
  }

  get domain(): XRange | null {
    return this.known;
  }

  /** Sets the range, whatever a hand was at. */
  setZoom(zoom: XRange | null): void {
    this.halt();
    this.applyZoom(zoom);
  }

  private applyZoom(zoom: XRange | null): void {
    if (zoom?.from === this.zoom?.from && zoom?.to === this.zoom?.to) return;
    this.zoom = zoom;
    this.invalidateAll();
  }

  /** Moves the range with the reader's hand. `onRest` is told the last one when the hand rests: the page remembers that
   * one and asks for its points. */
  glide(zoom: XRange | null, onRest: (zoom: XRange | null) => void): void {
    if (this.isStopped || this.coming !== null) return;
    if (this.restTimer !== null) clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => {
      this.restTimer = null;
      this.invalidateAll();
      onRest(this.zoom);
    }, REST_MS);
    this.applyZoom(zoom);
  }

  /** What a hand was at is forgotten: nobody is told. */
  private halt(): void {
    if (this.restTimer === null) return;
    clearTimeout(this.restTimer);
    this.restTimer = null;
    this.invalidateAll();
  }

  /** For as long as the page is open a hand may move the range; until the returned function is called. */
  start(): () => void {
    this.isStopped = false;
    return () => {
      this.isStopped = true;
      this.halt();
    };
  }

  /** Whether the range moves: what is drawn now is seen for one frame. */
  get isMoving(): boolean {
    return this.restTimer !== null;
  }

  get isZoomed(): boolean {
    return this.zoom !== null;
  }

  /** Whether the newest point is in the picture, wherever it comes to be. */
  get followsNewest(): boolean {
    return this.zoom === null || this.zoom.to === Number.POSITIVE_INFINITY;
  }

  /** The x axis as drawn; both ends are finite. */
  range(): XRange {
    if (this.zoom && Number.isFinite(this.zoom.to)) return this.zoom;
    const from = this.zoom?.from ?? this.known?.from ?? 0;
    const to = this.known?.to ?? from;
    const span = to > from ? to - from : 1;
    return { from, to: this.mayGrow ? from + span / (1 - LIVE_MARGIN) : from + span };
  }

  /** The x under the cursor, in every chart at once; `null` without a cursor. */
  get cursor(): number | null {
    return this.cursorX;
  }

  setCursor(x: number | null): void {
    if (x === this.cursorX) return;
    this.cursorX = x;
    for (const listener of this.cursorListeners) listener(x);
  }

  onCursor(listener: (x: number | null) => void): () => void {
    this.cursorListeners.add(listener);
    return () => this.cursorListeners.delete(listener);
  }
}
