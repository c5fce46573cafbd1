/** For a run that first trains supervised: all charts from the first step of reinforcement learning on. The losses of both
 * are of one name and of very different sizes. */
import type { Run } from "@/api/types";
import { isOver } from "@/api/types";
import { Toggle } from "@/components/button";
import type { XRange } from "@/components/chart/chart-group";
import type { RunCharts } from "@/components/chart/use-run-charts";
import { useFirstRlStep } from "@/components/use-first-rl-step";
import type { RunSearch } from "./run-search";

export interface RlOnlyProps {
  run: Run;
  charts: RunCharts;
  search: RunSearch;
  onZoom: (range: XRange | null) => void;
}

export function RlOnly({ run, charts, search, onZoom }: RlOnlyProps) {
  const first = useFirstRlStep(run, !isOver(run.state));
  if (first === null || first === 0) return null;
  const isOn = search.from !== undefined && search.to === undefined;
  const show = () => {
    // Of a run that is drawn in buckets, from the first one without a supervised step.
    const { step, x } = charts.batch.drawn;
    const from = x[step.findIndex((one) => one >= first)];
    if (from !== undefined) onZoom({ from, to: Number.POSITIVE_INFINITY });
  };
  return (
    <Toggle isOn={isOn} onClick={() => (isOn ? onZoom(null) : show())}>
      RL only
    </Toggle>
  );
}
