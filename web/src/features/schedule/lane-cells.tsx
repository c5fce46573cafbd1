// biome-ignore-all lint/a11y/useSemanticElements: a table has no place for boxes on a time axis
// biome-ignore-all lint/a11y/useFocusableInteractive: in a grid one cell takes the Tab key, dummies hold nothing to read
/** The boxes of one rank: micro-batches with their samples inside, dummies, idle time. Above 512 samples in view the
 * samples are painted on a canvas; boxes and words stay the same. */
import { memo, useEffect, useRef } from "react";
import { chartTheme, onThemeChange } from "@/components/chart/theme";
import { formatCompact, formatCount, formatInteger } from "@/lib/numbers";
import type { ColourScale } from "./cell-colours";
import type { Cell, Rank } from "./grid-geometry";
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

/** Between two micro-batches. */
const GAP_PX = 2;
/** Place of a skipped dummy, its gap included. */
const DUMMY_PX = 8;
/** Widths from which a label fits: all words, tokens and samples, tokens. */
const WORDS_PX = 270;
const BOTH_PX = 46;
const TOKENS_PX = 28;

export const LaneCells = memo(function LaneCells(props: LaneCellsProps) {
  const { rank, scale, laneWidth, onCanvas } = props;
  return (
    <>
      <Idle rank={rank} />
      {onCanvas && <PieceCanvas rank={rank} scale={scale} laneWidth={laneWidth} />}
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
  return (
    <>
      {isOpen && (
        <CellLabel cell={cell} left={left} tokenCap={tokenCap} width={cell.width * laneWidth - GAP_PX} />
      )}
      <div
        role="gridcell"
        tabIndex={tabCell === cell.index ? 0 : -1}
        data-cell={`${rank.rank}-${cell.index}`}
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

function PieceCanvas({ rank, scale, laneWidth }: Pick<LaneCellsProps, "rank" | "scale" | "laneWidth">) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const paint = () => canvas.current && laneWidth > 0 && paintPieces(canvas.current, rank, scale);
    paint();
    return onThemeChange(paint);
  }, [rank, scale, laneWidth]);
  return <canvas ref={canvas} className={styles.pieces} />;
}

function paintPieces(canvas: HTMLCanvasElement, rank: Rank, scale: ColourScale): void {
  const ratio = window.devicePixelRatio;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  canvas.width = width;
  canvas.height = height;
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  const theme = chartTheme();
  const colours = scale.kind === "seq" ? theme.seq : theme.div;
  for (const cell of rank.cells) {
    const start = cell.left * width;
    const inner = cell.width * width - GAP_PX * ratio;
    for (const { sample, left, width: share } of cell.pieces) {
      ctx.fillStyle = colours[scale.index[sample] ?? 0] ?? theme.surface;
      // A hair of the surface between two samples, as long as they are wider than it.
      const gap = share * inner > 3 * ratio ? ratio : 0;
      ctx.fillRect(start + left * inner, 0, Math.max(0.5, share * inner - gap), height);
    }
  }
}
