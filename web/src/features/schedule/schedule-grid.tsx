// biome-ignore-all lint/a11y/useSemanticElements: a table has no place for boxes on a time axis
// biome-ignore-all lint/a11y/useFocusableInteractive: in a grid one cell takes the Tab key, the arrow keys move it
/** Ranks × micro-batches to scale, with the samples inside: hover or the arrow keys read a sample. */
import { useMemo, useRef } from "react";
import type { Schedule } from "@/api/types";
import { useTold } from "@/lib/use-told";
import { cardStyle } from "./card-style";
import type { ColourScale } from "./cell-colours";
import { cellElement } from "./cell-key";
import { GridAxis } from "./grid-axis";
import { type GridGeometry, type Place, type Rank, type RankOrder, rankOrder } from "./grid-geometry";
import { LaneCells } from "./lane-cells";
import { LaneRings } from "./lane-rings";
import { HeadRow, RankRow } from "./rank-row";
import { RankRows } from "./rank-rows";
import { relatedTo } from "./related";
import { cardText, SampleCard } from "./sample-card";
import { type ReadStep, sampleFacts } from "./sample-facts";
import styles from "./schedule-grid.module.css";
import { useGridKeys } from "./use-grid-keys";
import { usePointedSample } from "./use-pointed-sample";
import { type ReadSample, sampleAt, useClosing, useReadSample } from "./use-read-sample";
import { useWidth } from "./use-width";

/** More samples than this are painted on a canvas. */
const MOST_IN_DOM = 512;

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
  /** Told whether a sample is read. */
  onRead: (isRead: boolean) => void;
  /** The link no longer points to it. */
  onClose: () => void;
  onOpen: (rolloutId: string) => void;
}

export function ScheduleGrid(props: ScheduleGridProps) {
  const { runId, schedule, geometry, scale, step, label, pointed, onRead, onClose, onOpen } = props;
  const order = useMemo(() => rankOrder(geometry.ranks), [geometry]);
  const read = useReadSample(geometry, pointed, onClose);
  const { hot, isHeld } = read;
  const grid = useRef<HTMLDivElement>(null);
  const cardBox = useRef<HTMLDivElement>(null);
  const laneHead = useRef<HTMLDivElement>(null);
  const laneWidth = useWidth(laneHead);
  const hotSample = hot && sampleAt(geometry, hot);
  useTold(hot !== null, onRead);
  const card = hotSample === null ? null : sampleFacts(schedule, geometry, hotSample, step);
  usePointedSample(grid, cardBox, { geometry, pointed, setFocus: read.setFocus });
  const close = () => {
    // Its own focus goes back to its sample, not to the beginning of the page.
    if (hot && cardBox.current?.contains(document.activeElement)) cellElement(grid.current, hot)?.focus();
    read.close();
  };
  useClosing(cardBox, card !== null, { close, release: read.release });
  const rolloutAt = (place: Place) => {
    const sample = sampleAt(geometry, place);
    return sample === null ? undefined : schedule.samples.rollout_id[sample];
  };
  const open = (place: Place) => {
    const rollout = rolloutAt(place);
    if (rollout !== undefined) onOpen(rollout);
  };
  const { hasKeys, ...keys } = useGridKeys(grid, { geometry, order, read, onOpen: open });
  const rows = { schedule, geometry, scale, order, laneWidth, read, onOpen: open };
  return (
    <div className={styles.wrap}>
      <div
        ref={grid}
        role="grid"
        aria-label={label}
        aria-readonly="true"
        aria-rowcount={order.length + 1}
        className={styles.grid}
        {...keys}
      >
        <HeadRow laneHead={laneHead} />
        <Lanes {...rows} hotSample={hotSample} />
        <GridAxis barrierS={geometry.barrierS} />
      </div>
      {card && hot && (
        <SampleCard
          ref={cardBox}
          card={card}
          style={cardStyle(grid.current, geometry, { place: hot, numFacts: card.facts.length, isHeld })}
          held={isHeld ? { runId, rollout: rolloutAt(hot), onClose: close } : null}
          hasKeys={hasKeys}
        />
      )}
      <div className="sr-only" aria-live="polite">
        {read.isFocused && card && cardText(card)}
      </div>
    </div>
  );
}

interface LanesProps extends Pick<ScheduleGridProps, "schedule" | "geometry" | "scale"> {
  order: readonly RankOrder[];
  laneWidth: number;
  read: ReadSample;
  /** The sample that is read: what belongs to it is ringed. */
  hotSample: number | null;
  onOpen: (place: Place) => void;
}

function Lanes({ schedule, geometry, scale, order, laneWidth, read, hotSample, onOpen }: LanesProps) {
  const related = useMemo(() => relatedTo(schedule, geometry, hotSample), [schedule, geometry, hotSample]);
  const { focus } = read;
  return (
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
            onChoose={read.setFocus}
            onOpen={onOpen}
          >
            <LaneCells
              rank={rank}
              scale={scale}
              tokenCap={schedule.token_cap}
              skipsDummies={schedule.skips_dummies}
              laneWidth={laneWidth}
              isOpen={isOpen}
              onCanvas={geometry.places.length > MOST_IN_DOM}
              tabCell={focus.rank === number ? focus.cell : null}
            />
            <LaneRings geometry={geometry} related={related.get(number)} />
          </RankRow>
        );
      }}
    </RankRows>
  );
}
