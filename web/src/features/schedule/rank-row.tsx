// biome-ignore-all lint/a11y/useSemanticElements: a table has no place for boxes on a time axis
// biome-ignore-all lint/a11y/useFocusableInteractive: in a grid one cell takes the Tab key, the arrow keys move it
/** One row of the grid: a rank, its lane, and what it did with its time; and the row of the heads over all of them. */
import type { MouseEvent, ReactNode, RefObject } from "react";
import { formatDuration } from "@/lib/durations";
import { formatCompact, formatInteger, formatPercent } from "@/lib/numbers";
import { type Place, pieceAt, type Rank } from "./grid-geometry";
import type { RowPlace } from "./rank-rows";
import styles from "./schedule-grid.module.css";
import { Slots } from "./slots";

export function HeadRow({ laneHead }: { laneHead: RefObject<HTMLDivElement | null> }) {
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

export interface RankRowProps {
  rank: Rank;
  at: RowPlace;
  isOpen: boolean;
  onPoint: (place: Place | null) => void;
  onChoose: (place: Place) => void;
  onOpen: (place: Place) => void;
  children: ReactNode;
}

export function RankRow({ rank, isOpen, at, onPoint, onChoose, onOpen, children }: RankRowProps) {
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
