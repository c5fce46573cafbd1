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
import { placeCard } from "./card-place";
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
import { sampleAt, useClosing, useReadSample } from "./use-read-sample";
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
  runId: string;
  schedule: Schedule;
  geometry: GridGeometry;
  scale: ColourScale;
  step: ReadStep;
  /** The accessible name: "Schedule of step 1,118". */
  label: string;
  /** The sample that a link points to. */
  pointed: number | null;
  /** The link no longer points to it. */
  onClose: () => void;
  onOpen: (rolloutId: string) => void;
}

export function ScheduleGrid(props: ScheduleGridProps) {
  const { runId, schedule, geometry, scale, step, label, pointed, onClose, onOpen } = props;
  const order = useMemo(() => rankOrder(geometry.ranks), [geometry]);
  const read = useReadSample(geometry, pointed, onClose);
  const { focus, hot, isHeld, isFocused, setFocus, setIsFocused } = read;
  const [hasKeys, setHasKeys] = useState(false);
  const grid = useRef<HTMLDivElement>(null);
  const cardBox = useRef<HTMLDivElement>(null);
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
    // The row that has the Tab key exists, also among very many.
    setFocus(at);
    const frame = requestAnimationFrame(() => {
      const box = cellElement(grid.current, at);
      const { top, bottom } = box?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
      // What is in view stays where it is.
      if (top < 0 || bottom > window.innerHeight) box?.scrollIntoView({ block: "center" });
      // Not before it has its place.
      if (cardBox.current?.style.top) cardBox.current.scrollIntoView({ block: "nearest" });
    });
    return () => cancelAnimationFrame(frame);
  }, [geometry, pointed, setFocus]);
  const close = () => {
    // Its own focus goes back to its sample, not to the beginning of the page.
    if (hot && cardBox.current?.contains(document.activeElement)) cellElement(grid.current, hot)?.focus();
    read.close();
  };
  useClosing(cardBox, card !== null, { close, release: read.release });
  const rolloutOf = (sample: number | null) =>
    sample === null ? undefined : schedule.samples.rollout_id[sample];
  const open = (sample: number | null) => {
    const rollout = rolloutOf(sample);
    if (rollout !== undefined) onOpen(rollout);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = MOVES[event.key];
    if (event.key === "Enter") open(hotSample ?? sampleAt(geometry, focus));
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    read.goTo(moveTo(geometry, order, focus, move));
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
          setHasKeys(true);
        }}
        onBlur={() => {
          setIsFocused(false);
          setHasKeys(false);
        }}
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
                onPoint={read.point}
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
      {card && hot && (
        <SampleCard
          ref={cardBox}
          card={card}
          style={cardStyle(grid.current, geometry, hot, { numFacts: card.facts.length, isHeld })}
          held={isHeld ? { runId, rollout: rolloutOf(hotSample), onClose: close } : null}
          hasKeys={hasKeys}
        />
      )}
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
/** Of the card: its head and foot, and one fact. */
const FRAME_PX = 70;
const FACT_PX = 17;

function cardStyle(
  grid: HTMLElement | null,
  geometry: GridGeometry,
  { rank, cell, piece }: Place,
  { numFacts, isHeld }: { numFacts: number; isHeld: boolean },
): CSSProperties {
  const box = cellElement(grid, { rank, cell });
  const lane = box?.parentElement?.getBoundingClientRect();
  const at = geometry.ranks[rank]?.cells[cell];
  const part = at?.pieces[piece];
  if (!grid || !lane || !at || !part) return {};
  const frame = grid.getBoundingClientRect();
  const x = (share: number) => lane.left - frame.left + (at.left + at.width * share) * lane.width;
  return placeCard({
    sample: {
      left: x(part.left),
      right: x(part.left + part.width),
      top: lane.top - frame.top,
      bottom: lane.bottom - frame.top,
    },
    grid: frame,
    lanesRight: lane.right - frame.left,
    // What is held open is scrolled to, and stays with its sample.
    view: isHeld ? EVERYWHERE : { top: -frame.top, bottom: window.innerHeight - frame.top },
    card: { width: CARD_PX, height: FRAME_PX + numFacts * FACT_PX },
  });
}

const EVERYWHERE = { top: 0, bottom: Number.POSITIVE_INFINITY };
