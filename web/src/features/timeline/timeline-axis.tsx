/** Above the lanes: the steps with their batch sizes, and seconds. A stretch that is drawn over it comes into view. */
import { type PointerEvent, useRef, useState } from "react";
import type { XRange } from "@/components/chart/chart-group";
import { multiples, niceStep } from "@/components/chart/ticks";
import { formatDuration } from "@/lib/durations";
import { formatCount, formatInteger } from "@/lib/numbers";
import { useTold } from "@/lib/use-told";
import styles from "./timeline.module.css";
import type { StepMark } from "./timeline-model";

const MOST_TICKS = 9;
/** Widths in share of the plot from which a step's words fit. */
const WORDS_SHARE = 0.16;
const NUMBER_SHARE = 0.035;
/** From here the words of a tick may stand beyond the end of the axis, where a narrow screen has no room for them. */
const END_SHARE = 0.9;

export interface TimelineAxisProps {
  marks: readonly StepMark[];
  batchSizes: ReadonlyMap<number, number>;
  range: XRange;
  onRange: (range: XRange) => void;
  onStep: (step: number) => void;
  /** Told whether the pointer is over it: what is aimed at must not move on. */
  onRead: (isRead: boolean) => void;
}

export function TimelineAxis({ marks, batchSizes, range, onRange, onStep, onRead }: TimelineAxisProps) {
  const [isAimedAt, setIsAimedAt] = useState(false);
  useTold(isAimedAt, onRead);
  const inView = marks.filter(({ from, to }) => to > range.from && from < range.to);
  return (
    <div
      className={styles.axis}
      onPointerEnter={() => setIsAimedAt(true)}
      onPointerLeave={() => setIsAimedAt(false)}
    >
      <div className={styles.steps}>
        {inView.map((mark) => (
          <StepButton
            key={mark.step}
            mark={mark}
            batchSize={batchSizes.get(mark.step)}
            range={range}
            onStep={onStep}
          />
        ))}
      </div>
      <Seconds range={range} onRange={onRange} />
    </div>
  );
}

/** Where a moment stands, as a share of the plot. */
function shareOf(seconds: number, range: XRange): number {
  return (seconds - range.from) / (range.to - range.from);
}

interface StepButtonProps extends Pick<TimelineAxisProps, "range" | "onStep"> {
  mark: StepMark;
  batchSize: number | undefined;
}

/** As much of its words as there is room for; a narrow one says the others by its name. */
function StepButton({ mark, batchSize, range, onStep }: StepButtonProps) {
  const left = Math.max(0, shareOf(mark.from, range));
  const width = Math.min(1, shareOf(mark.to, range)) - left;
  const [hasNumber, hasWords] = [width >= NUMBER_SHARE, width >= WORDS_SHARE];
  const size = batchSize === undefined ? "" : `, ${formatCount(batchSize, "sample")}`;
  const name = `Step ${formatInteger(mark.step)}${size}`;
  return (
    <button
      type="button"
      className={styles.stepMark}
      style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
      aria-label={hasWords ? undefined : name}
      title={name}
      onClick={() => onStep(mark.step)}
    >
      {hasNumber && (
        <>
          {hasWords && "Step "}
          {formatInteger(mark.step)}
          {hasWords && <small>{size}</small>}
        </>
      )}
    </button>
  );
}

function Seconds({ range, onRange }: Pick<TimelineAxisProps, "range" | "onRange">) {
  const brush = useBrush(range, onRange);
  const step = niceStep((range.to - range.from) / MOST_TICKS);
  const ticks = multiples(range.from, range.to, step).map((tick) => ({ tick, at: shareOf(tick, range) }));
  return (
    <div
      className={styles.seconds}
      aria-hidden="true"
      onPointerDown={brush.start}
      onPointerMove={brush.move}
      onPointerUp={brush.end}
      onPointerCancel={brush.drop}
      onLostPointerCapture={brush.drop}
    >
      {ticks.map(({ tick, at }) => (
        <span key={tick} data-end={at > END_SHARE || undefined} style={{ left: `${at * 100}%` }}>
          <b>{secondsText(tick, step)}</b>
        </span>
      ))}
      {brush.drawn && (
        <i
          className={styles.brush}
          style={{
            left: `${brush.drawn.from * 100}%`,
            width: `${(brush.drawn.to - brush.drawn.from) * 100}%`,
          }}
        />
      )}
    </div>
  );
}

/** `0 s`, `12.4 s`, `12.482 s`: as many decimals as the ticks differ by. */
function secondsText(seconds: number, step: number): string {
  if (step >= 60) return formatDuration(seconds);
  const decimals = Math.max(
    0,
    Math.min(6, Math.ceil(-Math.log10(step) - 1e-9) + (isWholeDecade(step) ? 0 : 1)),
  );
  return `${seconds.toFixed(step >= 1 && Number.isInteger(step) ? 0 : decimals)}\u00a0s`;
}

/** 0.25 needs a decimal more than 0.2 and 0.1. */
function isWholeDecade(step: number): boolean {
  const first = step / 10 ** Math.floor(Math.log10(step));
  return Math.abs(first - 2.5) > 1e-6;
}

interface Drawn {
  from: number;
  to: number;
}

function useBrush(range: XRange, onRange: (range: XRange) => void) {
  const began = useRef<number | null>(null);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const shareUnder = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const drop = () => {
    began.current = null;
    setDrawn(null);
  };
  return {
    drawn,
    drop,
    start: (event: PointerEvent<HTMLElement>) => {
      if (event.button !== 0) return;
      began.current = shareUnder(event);
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    move: (event: PointerEvent<HTMLElement>) => {
      if (began.current === null) return;
      // It was let go where no page hears it.
      if (event.buttons === 0) return drop();
      const at = shareUnder(event);
      setDrawn({ from: Math.min(began.current, at), to: Math.max(began.current, at) });
    },
    end: () => {
      drop();
      if (!drawn || drawn.to - drawn.from < 0.005) return;
      const span = range.to - range.from;
      onRange({ from: range.from + drawn.from * span, to: range.from + drawn.to * span });
    },
  };
}
