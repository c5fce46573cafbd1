// biome-ignore-all lint/a11y/useSemanticElements: a table has no place for boxes on a time axis
// biome-ignore-all lint/a11y/useFocusableInteractive: in a grid one cell takes the Tab key, the arrow keys move it
/** Ranks × micro-batches to scale, with the samples inside: hover or the arrow keys read a sample. */
import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Schedule } from "@/api/types";
import { formatDuration } from "@/lib/durations";
import { formatCompact, formatInteger, formatPercent } from "@/lib/numbers";
import type { ColourScale } from "./cell-colours";
import { cellElement, placeOfKey } from "./cell-key";
import { GridAxis } from "./grid-axis";
import {
  type GridGeometry,
  type Move,
  moveTo,
  type Place,
  pieceAt,
  type Rank,
  rankOrder,
} from "./grid-geometry";
import { LaneCells } from "./lane-cells";
import { LaneRings } from "./lane-rings";
import { RankRows, type RowPlace } from "./rank-rows";
import { relatedTo } from "./related";
import { cardText, SampleCard } from "./sample-card";
import { type ReadStep, sampleFacts } from "./sample-facts";
import styles from "./schedule-grid.module.css";
import { Slots } from "./slots";
import { useWidth } from "./use-width";

/** More samples than this are painted on a canvas. */
const MOST_IN_DOM = 512;
const MOVES: Record<string, Move> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
  Home: "home",
  End: "end",
};

export interface ScheduleGridProps {
  schedule: Schedule;
  geometry: GridGeometry;
  scale: ColourScale;
  step: ReadStep;
  /** The accessible name: "Schedule of step 1,118". */
  label: string;
  /** The sample that a link points to. */
  pointed: number | null;
  onOpen: (rolloutId: string) => void;
}

export function ScheduleGrid(props: ScheduleGridProps) {
  const { schedule, geometry, scale, step, label, pointed, onOpen } = props;
  const order = useMemo(() => rankOrder(geometry.ranks), [geometry]);
  const { hover, focus, hot, setHover, setFocus, isFocused, setIsFocused } = useHot(geometry, pointed);
  const grid = useRef<HTMLDivElement>(null);
  const wantsFocus = useRef(false);
  const laneHead = useRef<HTMLDivElement>(null);
  const laneWidth = useWidth(laneHead);
  const onCanvas = geometry.places.length > MOST_IN_DOM;
  const hotSample = hot && sampleAt(geometry, hot);
  const related = useMemo(() => relatedTo(schedule, geometry, hotSample), [schedule, geometry, hotSample]);
  const card = hotSample === null ? null : sampleFacts(schedule, geometry, hotSample, step);

  useEffect(() => {
    const at = pointed === null ? undefined : geometry.places[pointed];
    if (!at) return;
    const box = cellElement(grid.current, at);
    const { top, bottom } = box?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
    // What is in view stays where it is.
    if (top < 0 || bottom > window.innerHeight) box?.scrollIntoView({ block: "center" });
  }, [geometry, pointed]);
  const open = (sample: number | null) => {
    const rollout = sample === null ? undefined : schedule.samples.rollout_id[sample];
    if (rollout !== undefined) onOpen(rollout);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = MOVES[event.key];
    if (event.key === "Escape") setHover(null);
    if (event.key === "Enter") open(hotSample);
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setHover(null);
    setFocus(moveTo(geometry, order, focus, move));
    wantsFocus.current = true;
  };
  // Not before its row exists.
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    cellElement(grid.current, focus)?.focus();
  });
  return (
    <div className={styles.wrap}>
      <div
        ref={grid}
        role="grid"
        aria-label={label}
        aria-readonly="true"
        aria-rowcount={order.length + 1}
        className={styles.grid}
        onKeyDown={onKeyDown}
        onFocus={(event) => {
          const key = event.target.getAttribute("data-cell");
          if (key !== null) setFocus(placeOfCell(geometry, focus, placeOfKey(key)));
          setIsFocused(event.target.matches(":focus-visible"));
        }}
        onBlur={() => setIsFocused(false)}
      >
        <HeadRow laneHead={laneHead} />
        <RankRows
          order={order}
          numMicroBatches={geometry.ranks[0]?.cells.length ?? 0}
          kept={focus.rank}
          laneWidth={laneWidth}
        >
          {({ rank: number, isOpen }, at) => {
            const rank = geometry.ranks[number] as Rank;
            return (
              <RankRow
                key={number}
                rank={rank}
                isOpen={isOpen}
                at={at}
                onPoint={(place) => !samePlace(place, hover) && setHover(place)}
                onChoose={setFocus}
                onOpen={(place) => open(sampleAt(geometry, place))}
              >
                <LaneCells
                  rank={rank}
                  scale={scale}
                  tokenCap={schedule.token_cap}
                  skipsDummies={schedule.skips_dummies}
                  laneWidth={laneWidth}
                  isOpen={isOpen}
                  onCanvas={onCanvas}
                  tabCell={focus.rank === number ? focus.cell : null}
                />
                <LaneRings geometry={geometry} related={related.get(number)} />
              </RankRow>
            );
          }}
        </RankRows>
        <GridAxis barrierS={geometry.barrierS} />
      </div>
      {card && hot && <SampleCard card={card} style={cardPlace(grid.current, geometry, hot)} />}
      <div className="sr-only" aria-live="polite">
        {isFocused && card && cardText(card)}
      </div>
    </div>
  );
}

/** The sample that was read last in a micro-batch that gets the focus, or its first one. */
function placeOfCell(
  { ranks }: GridGeometry,
  before: Place,
  { rank, cell }: { rank: number; cell: number | null },
): Place {
  if (before.rank === rank && (cell === null || before.cell === cell)) return before;
  const first = ranks[rank]?.cells.find(({ isDummy }) => !isDummy)?.index ?? 0;
  return { rank, cell: cell ?? first, piece: 0 };
}

/** The sample that is read: the one under the pointer, otherwise the focused one, otherwise the one of a link. */
function useHot(geometry: GridGeometry, pointed: number | null) {
  const [hover, setHover] = useState<Place | null>(null);
  const [chosen, setFocus] = useState<Place | null>(null);
  const given = (pointed === null ? null : geometry.places[pointed]) ?? null;
  const [isFocused, setIsFocused] = useState(false);
  // Another step has other boxes: what no longer exists falls back to the first one.
  const isChosen = chosen !== null && sampleAt(geometry, chosen) !== null;
  const focus = isChosen ? chosen : (given ?? firstPlace(geometry));
  const isThere = hover !== null && sampleAt(geometry, hover) !== null;
  const hot = isThere ? hover : isFocused ? focus : given;
  return { hover, focus, hot, setHover, setFocus, isFocused, setIsFocused };
}

function firstPlace(geometry: GridGeometry): Place {
  const rank = geometry.ranks.find(({ cells }) => cells.some(({ isDummy }) => !isDummy));
  const cell = rank?.cells.find(({ isDummy }) => !isDummy);
  return { rank: rank?.rank ?? 0, cell: cell?.index ?? 0, piece: 0 };
}

function sampleAt({ ranks }: GridGeometry, { rank, cell, piece }: Place): number | null {
  return ranks[rank]?.cells[cell]?.pieces[piece]?.sample ?? null;
}

function samePlace(a: Place | null, b: Place | null): boolean {
  return a?.rank === b?.rank && a?.cell === b?.cell && a?.piece === b?.piece;
}

function HeadRow({ laneHead }: { laneHead: React.RefObject<HTMLDivElement | null> }) {
  return (
    <div role="row" aria-rowindex={1} className={styles.headRow}>
      <div role="columnheader">Rank</div>
      <div role="columnheader" ref={laneHead}>
        <span className="sr-only">Micro-batches over time</span>
      </div>
      {["Samples", "Tokens", "Busy", "Idle", "Slots"].map((head) => (
        <div key={head} role="columnheader" data-column={head}>
          {head}
        </div>
      ))}
    </div>
  );
}

interface RankRowProps {
  rank: Rank;
  at: RowPlace;
  isOpen: boolean;
  onPoint: (place: Place | null) => void;
  onChoose: (place: Place) => void;
  onOpen: (place: Place) => void;
  children: React.ReactNode;
}

function RankRow({ rank, isOpen, at, onPoint, onChoose, onOpen, children }: RankRowProps) {
  const placeUnder = (event: MouseEvent<HTMLElement>) => {
    const lane = event.currentTarget.getBoundingClientRect();
    return pieceAt(rank, (event.clientX - lane.left) / lane.width);
  };
  return (
    <div role="row" className={styles.row} data-thin={!isOpen || undefined} {...at}>
      <div role="rowheader">{rank.rank}</div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the grid has the keys */}
      <div
        role="presentation"
        className={styles.lane}
        onPointerMove={(event) => onPoint(placeUnder(event))}
        onPointerDown={(event) => {
          const place = placeUnder(event);
          onPoint(place);
          if (place) onChoose(place);
        }}
        onDoubleClick={(event) => {
          const place = placeUnder(event);
          if (place) onOpen(place);
        }}
        // A finger that is lifted leaves; what it chose stays to be read.
        onPointerLeave={(event) => event.pointerType !== "touch" && onPoint(null)}
      >
        {children}
      </div>
      <div role="gridcell" data-column="Samples">
        {formatInteger(rank.numSamples)}
      </div>
      <div role="gridcell" data-column="Tokens">
        {formatCompact(rank.tokens)}
      </div>
      <div role="gridcell" data-column="Busy">
        {formatDuration(rank.busyS)}
      </div>
      <div role="gridcell" data-column="Idle">
        {formatPercent(rank.idleFrac)}
      </div>
      <div role="gridcell" data-column="Slots">
        <Slots cells={rank.cells} />
      </div>
    </div>
  );
}

const CARD_PX = 272;
const CARD_HEIGHT_PX = 250;

/** Under the sample's row, above it where there is no room; on the side with more room. */
function cardPlace(grid: HTMLElement | null, geometry: GridGeometry, { rank, cell }: Place): CSSProperties {
  const box = cellElement(grid, { rank, cell });
  const lane = box?.parentElement;
  if (!grid || !box || !lane) return {};
  const frame = grid.getBoundingClientRect();
  const [boxAt, laneAt] = [box.getBoundingClientRect(), lane.getBoundingClientRect()];
  const start = (geometry.ranks[rank]?.cells[cell]?.left ?? 0) * laneAt.width + laneAt.left - frame.left;
  // Over the figures beside the lanes it hides no sample of the same rollout.
  const beside = frame.width - CARD_PX - 14;
  const hasRoom = frame.right - laneAt.right >= CARD_PX;
  const left = hasRoom ? beside : Math.max(0, Math.min(start, beside));
  const below = boxAt.bottom - frame.top + 8;
  const fitsBelow = boxAt.bottom + CARD_HEIGHT_PX < window.innerHeight;
  return fitsBelow ? { left, top: below } : { left, bottom: frame.height - (laneAt.top - frame.top) + 4 };
}
