/** What the hero says of the step under the cursor: beside it, or on narrow screens under the plot in fixed places. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useSyncExternalStore } from "react";
import { stepOptions } from "@/api/steps";
import type { ChartGroup } from "@/components/chart/chart-group";
import type { MetricTrack } from "@/components/chart/metric-track";
import { useCursor } from "@/components/chart/use-cursor";
import { formatInteger, MISSING, NBSP } from "@/lib/numbers";
import { formatMoment } from "@/lib/times";
import { useDebounced } from "@/lib/use-debounced";
import styles from "./hero.module.css";
import { type HeroReadings, type HeroTracks, heroReadings } from "./hero-readings";

export interface HeroTooltipProps {
  runId: string;
  group: ChartGroup;
  tracks: HeroTracks;
}

/** Gap between the cursor's line and the tooltip. */
const GAP_PX = 14;
/** A cursor that only passes a step asks nothing. */
const REST_MS = 120;

export function HeroTooltip({ runId, group, tracks }: HeroTooltipProps) {
  const x = useCursor(group);
  const readings = x === null ? null : heroReadings(tracks, x);
  const ended = useStepEnd(runId, readings?.step ?? null);
  if (x === null || !readings) return null;
  const { from, to } = group.range();
  const share = (x - from) / (to - from);
  const isRight = share < 0.5;
  const edge = `calc(var(--axis-width) + (100% - 2 * var(--axis-width)) * ${isRight ? share : 1 - share} + ${GAP_PX}px)`;
  return (
    <div className={styles.tooltip} style={isRight ? { left: edge } : { right: edge }} aria-hidden="true">
      <div className={styles.tooltipHead}>
        {readings.title}
        {readings.attempt !== null && <span>attempt {readings.attempt}</span>}
      </div>
      <dl>
        <dt>
          <i className={styles.keyLine} />
          Loss
        </dt>
        <dd>{readings.loss}</dd>
        <dt>
          <i className={styles.keyArea} />
          Batch size
        </dt>
        <dd>
          {readings.batch}
          {NBSP}samples
        </dd>
        <dt>Micro-batches</dt>
        <dd>
          {microBatchesText(readings)} {readings.dummies && <small>{readings.dummies}</small>}
        </dd>
        <dt>Idle</dt>
        <dd>
          {readings.idle} {readings.idleBound && <small>{readings.idleBound}</small>}
        </dd>
        <dt>LR</dt>
        <dd>{readings.lr}</dd>
      </dl>
      <p>
        <span>{ended ?? NBSP}</span>
        <span>Enter opens the step</span>
      </p>
    </div>
  );
}

/** When a step ended, once the cursor rests on it. */
function useStepEnd(runId: string, step: number | null): string | null {
  const settled = useDebounced(step, REST_MS);
  const { data } = useQuery({
    ...stepOptions(runId, settled ?? 0),
    enabled: settled !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data && data.step === step ? formatMoment(new Date(data.ended_at), new Date()) : null;
}

/** The same values without a tooltip: a finger covers what it points at. */
export function HeroDock({ runId, group, tracks }: HeroTooltipProps) {
  const readings = useDocked(group, tracks);
  return (
    <dl className={styles.dock}>
      <div>
        <dt>Step</dt>
        <dd>
          {readings ? (
            <Link to="/runs/$runId/schedule" params={{ runId }} search={{ step: readings.step }}>
              {formatInteger(readings.step)}
            </Link>
          ) : (
            MISSING
          )}
        </dd>
      </div>
      <DockValue label="Loss" value={readings?.loss} />
      <DockValue label="Batch size" value={readings?.batch} />
      <DockValue label="Micro-batches" value={microBatchesText(readings)} />
      <DockValue label="Idle" value={readings?.idle} />
      <DockValue label="LR" value={readings?.lr} />
    </dl>
  );
}

function microBatchesText(readings: HeroReadings | null): string {
  return readings && readings.microBatches !== MISSING ? `${readings.microBatches} per rank` : MISSING;
}

/** What the tracks say now. Those that only this part needs come after the first picture. */
function useDocked(group: ChartGroup, tracks: HeroTracks): HeroReadings | null {
  const x = useCursor(group);
  const text = useSyncExternalStore(
    (listener) => {
      const stops = Object.values(tracks).map((track: MetricTrack) => track.onChange(listener));
      return () => {
        for (const stop of stops) stop();
      };
    },
    () => JSON.stringify(heroReadings(tracks, x, true)),
  );
  return useMemo(() => JSON.parse(text) as HeroReadings | null, [text]);
}

function DockValue({ label, value }: { label: string; value: string | null | undefined }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value ?? MISSING}</dd>
    </div>
  );
}
