/** One number of every token over the response, to find the odd ones: a click goes to the token. */
import { type MouseEvent, useEffect, useRef } from "react";
import { withAlpha } from "@/components/chart/paint";
import { chartTheme, onThemeChange } from "@/components/chart/theme";
import { formatCount } from "@/lib/numbers";
import styles from "./rollout-view.module.css";

export interface TokenStripProps {
  /** What it shows: "Log-prob". */
  label: string;
  values: readonly (number | null)[];
  low: number;
  high: number;
  hot: number | null;
  onHot: (index: number) => void;
}

export function TokenStrip({ label, values, low, high, hot, onHot }: TokenStripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const paint = () => paintStrip(element, { values, low, high, hot });
    paint();
    const sizes = new ResizeObserver(paint);
    sizes.observe(element);
    const stop = onThemeChange(paint);
    return () => {
      sizes.disconnect();
      stop();
    };
  }, [values, low, high, hot]);
  const onClick = (event: MouseEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / width) * values.length);
    if (values.length > 0) onHot(Math.min(values.length - 1, Math.max(0, at)));
  };
  const ticks = low < 0 && high > 0 ? [high, 0, low] : [0, low / 2, low];
  return (
    <div className={styles.strip}>
      <div className={styles.stripAxis} aria-hidden="true">
        {ticks.map((tick) => (
          <span key={tick} style={{ top: `${((high - tick) / (high - low)) * 100}%` }}>
            {String(tick).replace("-", "−")}
          </span>
        ))}
      </div>
      <canvas
        ref={canvas}
        className={styles.stripCanvas}
        role="img"
        aria-label={`${label} of ${formatCount(values.length, "token")}`}
        onClick={onClick}
      />
    </div>
  );
}

interface Strip {
  values: readonly (number | null)[];
  low: number;
  high: number;
  hot: number | null;
}

function paintStrip(canvas: HTMLCanvasElement, { values, low, high, hot }: Strip): void {
  const ratio = window.devicePixelRatio;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  canvas.width = width;
  canvas.height = height;
  const ctx = canvas.getContext("2d");
  if (!ctx || values.length === 0) return;
  const theme = chartTheme();
  const y = (value: number) => ((high - Math.max(low, Math.min(high, value))) / (high - low)) * height;
  ctx.fillStyle = theme.grid;
  for (const value of [low, (low + high) / 2, high]) {
    ctx.fillRect(0, Math.min(height - ratio, Math.round(y(value))), width, ratio);
  }
  const slot = width / values.length;
  const wide = Math.max(ratio, slot * 0.8);
  values.forEach((value, i) => {
    if (value === null) return;
    ctx.fillStyle = i === hot ? theme.batch : withAlpha(theme.metric, 0.55);
    const [from, to] = [y(0), y(value)];
    ctx.fillRect(
      i * slot,
      Math.min(from, to),
      i === hot ? Math.max(wide, 2 * ratio) : wide,
      Math.abs(to - from),
    );
  });
}
