/** The colour and the dash of a run, as a short line. */
import { useSyncExternalStore } from "react";
import { chartTheme, onThemeChange, seriesStyle } from "@/components/chart/theme";

export function SeriesKey({ series }: { series: number }) {
  const theme = useSyncExternalStore(onThemeChange, chartTheme);
  const { line, dash } = seriesStyle(theme, series);
  return (
    <svg width="28" height="8" aria-hidden="true">
      <line x1="0" y1="4" x2="28" y2="4" stroke={line} strokeWidth="2" strokeDasharray={dash.join(" ")} />
    </svg>
  );
}

/** The ink of a run's name. */
export function useSeriesInk(series: number): string {
  return seriesStyle(useSyncExternalStore(onThemeChange, chartTheme), series).text;
}
