/** `+0.011 over 100 steps`: where the reward is going, which its newest value alone does not tell. */
import { useQuery } from "@tanstack/react-query";
import { historyOptions } from "@/api/history";
import type { Run } from "@/api/types";
import { formatCount, formatDelta } from "@/lib/numbers";
import { trendOf } from "./trend";

const REWARD = "reward/mean";
const OVER_STEPS = 100;
/** Asked again only so often: over 100 steps nothing moves with each of them. */
const EVERY_STEPS = 10;
/** What three decimals show. */
const LEAST_DELTA = 0.0005;

export function RewardTrend({ run }: { run: Run }) {
  const newest = run.last?.step ?? 0;
  const [from, to] = [
    Math.max(0, Math.floor((newest + 1) / EVERY_STEPS) * EVERY_STEPS - OVER_STEPS),
    Math.ceil((newest + 1) / EVERY_STEPS) * EVERY_STEPS,
  ];
  const { data } = useQuery({
    ...historyOptions({
      runs: [run.id],
      names: [REWARD],
      x: "step",
      from,
      to,
      maxPoints: OVER_STEPS + EVERY_STEPS,
      agg: "mean",
    }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const values = data?.series.flatMap((series) => series.value) ?? [];
  const trend = trendOf(values.slice(-OVER_STEPS));
  if (!trend) return null;
  const over = `over ${formatCount(trend.numSteps, "step")}`;
  return Math.abs(trend.delta) < LEAST_DELTA
    ? `unchanged ${over}`
    : `${formatDelta(REWARD, trend.delta)} ${over}`;
}
