// biome-ignore-all lint/a11y/useSemanticElements: a table has no place for boxes on a time axis
// biome-ignore-all lint/a11y/useFocusableInteractive: in a grid one cell takes the Tab key, dummies hold nothing to read
/** The boxes of one rank: micro-batches with their samples inside, dummies, idle time. Above 512 samples in view the
 * samples are painted on a canvas; boxes and words stay the same. Ranks of very many micro-batches are painted whole. */
import { memo, useEffect, useRef } from "react";
import { onThemeChange } from "@/components/chart/theme";
import { formatCompact, formatCount, formatInteger } from "@/lib/numbers";
import type { ColourScale } from "./cell-colours";
import { cellKey, paintedKey } from "./cell-key";
import type { Cell, Rank } from "./grid-geometry";
import { GAP_PX, isParted, paintLane } from "./paint-lane";
import styles from "./schedule-grid.module.css";

export interface LaneCellsProps {
  rank: Rank;
  scale: ColourScale;
  tokenCap: number | null;
  skipsDummies: boolean;
  /** Width of the lane in px, for what fits. */
  laneWidth: number;
  isOpen: boolean;
  onCanvas: boolean;
  /** The micro-batch that takes the Tab key; null: none of this rank. */
  tabCell: number | null;
}

/** Place of a skipped dummy, its gap included. */
const DUMMY_PX = 8;
/** Widths from which a label fits: all words, tokens and samples, tokens. */
const WORDS_PX = 270;
const BOTH_PX = 46;
const TOKENS_PX = 28;

/** From so many micro-batches on a rank is painted whole: there is no room for their labels, in thin rows from fewer. */
const MANY_CELLS = 150;
const MANY_THIN_CELLS = 24;

export const LaneCells = memo(function LaneCells(props: LaneCellsProps) {
  const { rank, isOpen, onCanvas } = props;
  if (rank.cells.length >= (isOpen ? MANY_CELLS : MANY_THIN_CELLS)) {
    return (
      <>
        <Idle rank={rank} />
        <LaneCanvas {...props} withBoxes={true} />
        <PaintedCells {...props} />
      </>
    );
  }
  return (
    <>
      <Idle rank={rank} />
      {onCanvas && <LaneCanvas {...props} withBoxes={false} />}
      {rank.cells.map((cell) =>
        cell.isDummy ? (
          <Dummy key={cell.index} cell={cell} {...props} />
        ) : (
          <WorkCell key={cell.index} cell={cell} {...props} />
        ),
      )}
    </>
  );
});

/** From the end of the rank to the barrier, and before each barrier between micro-batches. */
function Idle({ rank: { cells, end } }: { rank: Rank }) {
  const work = cells.filter(({ isDummy, width }) => !isDummy || width > 0);
  const hasGap = work.some(({ left }, i) => i > 0 && left - endOf(work[i - 1]) > SEEN);
  const left = hasGap ? endOf(work[0]) : end;
  return left < 1 && <i className={styles.idle} style={{ left: `${left * 100}%` }} />;
}

/** A smaller share of the lane is rounding. */
const SEEN = 1e-6;

function endOf(cell: Cell | undefined): number {
  return cell ? cell.left + cell.width : 0;
}

/** The label stands beside the box, not in it: the box has a name of its own, in full words. */
function WorkCell({
  cell,
  rank,
  scale,
  tokenCap,
  laneWidth,
  isOpen,
  onCanvas,
  tabCell,
}: LaneCellsProps & { cell: Cell }) {
  const left = `${cell.left * 100}%`;
  const inner = cell.width * laneWidth - GAP_PX;
  return (
    <>
      {isOpen && <CellLabel cell={cell} left={left} tokenCap={tokenCap} width={inner} />}
      <div
        role="gridcell"
        tabIndex={tabCell === cell.index ? 0 : -1}
        data-cell={cellKey(rank.rank, cell.index)}
        className={styles.cell}
        data-over={cell.isOverCap || undefined}
        style={{ left, width: `${cell.width * 100}%` }}
        aria-label={cellName(rank, cell, tokenCap)}
      >
        <span className={styles.box}>
          {!onCanvas &&
            cell.pieces.map(({ sample, left: start, width }) => (
              <i
                key={sample}
                data-parted={isParted(width * inner) || undefined}
                style={{
                  left: `${start * 100}%`,
                  width: `${width * 100}%`,
                  background: `var(--${scale.kind}-${scale.index[sample] ?? 0})`,
                }}
              />
            ))}
        </span>
      </div>
    </>
  );
}

function cellName(rank: Rank, cell: Cell, tokenCap: number | null): string {
  const samples = `${formatInteger(cell.pieces.length)} ${cell.pieces.length === 1 ? "sample" : "samples"}`;
  const over = cell.isOverCap && tokenCap !== null ? `, over the cap of ${formatInteger(tokenCap)}` : "";
  const padding = cell.padding > 0 ? `, ${formatCount(cell.padding, "position")} of padding` : "";
  return `Rank ${rank.rank}, micro-batch ${cell.index}: ${formatInteger(cell.tokens)} tokens, ${samples}${padding}${over}`;
}

/** Words inside a label are never cut: what has no room is left out. */
function CellLabel(props: { cell: Cell; left: string; tokenCap: number | null; width: number }) {
  const { cell, left, tokenCap, width } = props;
  if (width < TOKENS_PX) return null;
  if (cell.isOverCap && tokenCap !== null && width >= WORDS_PX) {
    return (
      <em className={styles.label} style={{ left }} aria-hidden="true">
        <b>{formatInteger(cell.tokens)} tokens</b> {cell.pieces.length}{" "}
        {cell.pieces.length === 1 ? "sample" : "samples"}, over the cap of {formatInteger(tokenCap)}
      </em>
    );
  }
  return (
    <em className={styles.label} style={{ left }} aria-hidden="true">
      <b>{formatCompact(cell.tokens)}</b>
      {width >= BOTH_PX && ` ${formatInteger(cell.pieces.length)}`}
    </em>
  );
}

/** A dummy that runs takes its time; one that is skipped stands behind the rank's end, where there is room. */
function Dummy({ cell, rank, scale, skipsDummies, laneWidth }: LaneCellsProps & { cell: Cell }) {
  const name = `Rank ${rank.rank}, micro-batch ${cell.index}: dummy, weight 0`;
  if (!skipsDummies) {
    return (
      <div
        role="gridcell"
        className={styles.runningDummy}
        style={{
          left: `${cell.left * 100}%`,
          width: `calc(${cell.width * 100}% - ${GAP_PX}px)`,
          ...(scale.dummy !== undefined && { background: `var(--${scale.kind}-${scale.dummy})` }),
        }}
        aria-label={`${name}, it runs`}
      />
    );
  }
  const before = rank.cells.filter(({ index, isDummy }) => isDummy && index < cell.index).length;
  const isVisible = rank.end * laneWidth + (before + 1) * DUMMY_PX <= laneWidth;
  return (
    <div
      role="gridcell"
      className={styles.dummy}
      style={{ left: `calc(${rank.end * 100}% + ${before * DUMMY_PX + GAP_PX}px)` }}
      hidden={!isVisible}
      aria-label={`${name}, skipped`}
    />
  );
}

/** Height of a thin lane: to ask for it would lay the page out once for each canvas. */
const THIN_LANE_PX = 12;

interface LaneCanvasProps
  extends Pick<LaneCellsProps, "rank" | "scale" | "skipsDummies" | "laneWidth" | "isOpen"> {
  withBoxes: boolean;
}

function LaneCanvas({ rank, scale, skipsDummies, laneWidth, isOpen, withBoxes }: LaneCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const paint = () => {
      if (!canvas.current || laneWidth <= 0) return;
      const height = isOpen ? canvas.current.clientHeight : THIN_LANE_PX;
      paintLane(canvas.current, { rank, scale, withBoxes, skipsDummies, width: laneWidth, height });
    };
    paint();
    return onThemeChange(paint);
  }, [rank, scale, withBoxes, skipsDummies, laneWidth, isOpen]);
  return <canvas ref={canvas} className={styles.pieces} />;
}

/** A rank whose micro-batches are painted is one cell: the arrow keys still read its samples. */
function PaintedCells({ rank, tabCell }: LaneCellsProps) {
  return (
    <div
      role="gridcell"
      tabIndex={tabCell === null ? -1 : 0}
      data-cell={paintedKey(rank.rank)}
      className={styles.painted}
      aria-label={rankName(rank)}
    />
  );
}

function rankName({ rank, cells, tokens, numSamples }: Rank): string {
  const dummies = cells.filter(({ isDummy }) => isDummy).length;
  const over = cells.filter(({ isOverCap }) => isOverCap).length;
  const parts = [
    `${formatInteger(cells.length)} micro-batches`,
    `${formatInteger(tokens)} tokens`,
    formatCount(numSamples, "sample"),
    ...(dummies > 0 ? [`${formatInteger(dummies)} dummies`] : []),
    ...(over > 0 ? [`${formatInteger(over)} over the cap`] : []),
  ];
  return `Rank ${rank}: ${parts.join(", ")}`;
}
