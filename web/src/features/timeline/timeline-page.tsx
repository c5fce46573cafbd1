/** Who did what when within steps of a run, who waited, and what is odd about it. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { problemSentence } from "@/api/problem";
import { runOptions } from "@/api/runs";
import { stepsOptions } from "@/api/steps";
import { timelineOptions } from "@/api/timeline";
import { isOver, type Run, type StepTimeline } from "@/api/types";
import { zoomed } from "@/components/chart/zoom";
import { EmptyState } from "@/components/empty-state";
import { LoadingBars } from "@/components/loading-bars";
import { NoSteps } from "@/components/no-steps";
import { NotKept } from "@/components/not-kept";
import { ProblemPanel } from "@/components/problem-panel";
import { formatCount, formatInteger, formatPercent, formatRange } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import { AdvisoryPanel } from "./advisory-panel";
import { kindsFoldedAtFirst } from "./lane-rows";
import { around } from "./time-range";
import styles from "./timeline.module.css";
import { TimelineAxis } from "./timeline-axis";
import { LoadingFacts, TimelineFacts, TimelineLegend } from "./timeline-facts";
import { TimelineLanes } from "./timeline-lanes";
import { busyFrac, lanesByKind, type Timeline, timelineOf } from "./timeline-model";
import type { TimelineSearch, TimelineSearchPatch } from "./timeline-search";
import { TimelineTable } from "./timeline-table";
import { TimelineToolbar, WHOLE } from "./timeline-toolbar";
import { usePacedStep } from "./use-paced-step";
import { useWindow } from "./use-window";

const RETRY_S = 5;
const LOADING_ROWS = 10;
const ROW_PX = 26;
const LEFT = "ArrowLeft";
const RIGHT = "ArrowRight";
/** Steps that Shift with an arrow key goes. */
const FAR = 10;
const IN = 0.6;

export interface TimelinePageProps {
  runId: string;
  search: TimelineSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: TimelineSearchPatch) => void;
}

export function TimelinePage(props: TimelinePageProps) {
  const { data: run } = useQuery(runOptions(props.runId));
  if (!run) return <LoadingBars rows={LOADING_ROWS} rowHeight={ROW_PX} />;
  const newest = run.last?.step ?? null;
  return (
    <div className={styles.columns}>
      {newest === null ? (
        <>
          <div className={styles.nothing}>
            <NoSteps state={run.state} />
          </div>
          <aside className={styles.facts} aria-label="Facts of the timeline">
            <AdvisoryPanel runId={run.id} isLive={!isOver(run.state)} />
          </aside>
        </>
      ) : (
        <RunTimeline {...props} run={run} newest={newest} />
      )}
    </div>
  );
}

function RunTimeline({
  runId,
  search,
  setSearch,
  run,
  newest,
}: TimelinePageProps & { run: Run; newest: number }) {
  const isLive = !isOver(run.state);
  const step = Math.min(newest, usePacedStep(search.step, newest));
  const first = Math.max(0, step - (search.steps ?? 1) + 1);
  const { data, error, refetch, isPlaceholderData } = useQuery(timelineOptions(runId, first, step));
  const { data: rows } = useQuery(stepsOptions(runId, first, step - first + 1));
  const timeline = useMemo(() => timelineOf(data?.items ?? []), [data]);
  const { range, onRange, isWhole } = useWindow(search, setSearch, timeline.durationS);
  const onStep = (by: number) => setSearch({ step: Math.min(newest, Math.max(0, step + by)), ...WHOLE });
  const onZoom = (factor: number | null) =>
    onRange(factor === null ? null : zoomed(range, { from: 0, to: timeline.durationS }, null, factor));
  useShortcuts({
    [LEFT]: ({ shiftKey }) => onStep(shiftKey ? -FAR : -1),
    [RIGHT]: ({ shiftKey }) => onStep(shiftKey ? FAR : 1),
    "+": () => onZoom(IN),
    "-": () => onZoom(1 / IN),
    "0": () => onZoom(null),
    t: () => setSearch({ table: !search.table }),
  });
  const label = `Timeline of ${first === step ? "step" : "steps"} ${formatRange(first, step)}`;
  const hasSpans = timeline.lanes.length > 0;
  const batchSizes = new Map(rows?.items.map((row) => [row.step, row.global_batch_size]));
  return (
    <>
      <section className={styles.main} aria-label={label} data-old={isPlaceholderData || undefined}>
        <TimelineToolbar
          step={step}
          newest={newest}
          first={first}
          isFollowing={isLive && search.step === undefined}
          canFollow={isLive}
          search={search}
          setSearch={setSearch}
          onStep={onStep}
          onZoom={onZoom}
          isWhole={isWhole}
        />
        {data && hasSpans ? (
          <Picture
            timeline={timeline}
            batchSizes={batchSizes}
            label={label}
            search={search}
            setSearch={setSearch}
            range={range}
            onRange={onRange}
          />
        ) : (
          <div className={styles.empty}>
            {error && !data ? (
              <ProblemPanel
                title="The timeline did not load"
                detail={problemSentence(error)}
                onRetry={refetch}
                retryAfterS={RETRY_S}
              />
            ) : data ? (
              <EmptyState title={`No timeline of ${first === step ? "this step" : "these steps"}`}>
                <NotKept
                  runId={runId}
                  kind="timelines"
                  what="It is not kept any more"
                  step={step}
                  otherwise="Nobody measured it."
                />{" "}
                {first === step ? "Its" : "Their"} counts and metrics are complete.
              </EmptyState>
            ) : (
              <LoadingBars rows={LOADING_ROWS} rowHeight={ROW_PX} onRetry={refetch} />
            )}
          </div>
        )}
        {data && <Missing items={data.items} nextFrom={data.next_from} last={step} />}
      </section>
      <aside className={styles.facts} aria-label="Facts of the timeline">
        {!data && !error && <LoadingFacts />}
        {hasSpans && (
          <TimelineFacts
            timeline={timeline}
            range={range}
            onWait={(from, to) => onRange(around(from, to, timeline.durationS))}
          />
        )}
        <AdvisoryPanel runId={runId} isLive={isLive} />
      </aside>
    </>
  );
}

/** Steps of the range that the picture lacks. */
function Missing({
  items,
  nextFrom,
  last,
}: {
  items: readonly StepTimeline[];
  nextFrom: number | null;
  last: number;
}) {
  const without = items.filter(({ timeline }) => timeline === null);
  const isPart = without.length > 0 && without.length < items.length;
  if (nextFrom === null && !isPart) return null;
  return (
    <p className={styles.none}>
      {nextFrom !== null &&
        `Steps ${formatRange(nextFrom, last)} have no room in one picture. Look at fewer steps for them. `}
      {isPart &&
        `${formatCount(without.length, "step")} without a timeline, the first is ${formatInteger(without[0]?.step ?? 0)}.`}
    </p>
  );
}

interface PictureProps extends Pick<TimelinePageProps, "search" | "setSearch"> {
  timeline: Timeline;
  batchSizes: ReadonlyMap<number, number>;
  label: string;
  range: { from: number; to: number };
  onRange: (range: { from: number; to: number } | null) => void;
}

function Picture({ timeline, batchSizes, label, search, setSearch, range, onRange }: PictureProps) {
  const folded = search.folded ?? kindsFoldedAtFirst(timeline.lanes);
  if (search.table) return <TimelineTable timeline={timeline} range={range} label={label} />;
  return (
    <>
      <TimelineAxis
        marks={timeline.marks}
        batchSizes={batchSizes}
        range={range}
        onRange={onRange}
        onStep={(step) => setSearch({ step, steps: undefined, ...WHOLE })}
      />
      <TimelineLanes
        timeline={timeline}
        folded={folded}
        onFold={(kind) =>
          setSearch({
            folded: folded.includes(kind) ? folded.filter((one) => one !== kind) : [...folded, kind],
          })
        }
        range={range}
        onRange={onRange}
        label={`${label}: ${inWords(timeline, range)}`}
      />
      <TimelineLegend timeline={timeline} />
    </>
  );
}

/** `driver 12.0% busy, engine 63.1%, rank 81.0%`. */
function inWords({ lanes }: Timeline, { from, to }: { from: number; to: number }): string {
  const kinds = lanesByKind(lanes);
  return [...kinds]
    .map(([kind, own]) => {
      const busy = own.reduce((sum, lane) => sum + busyFrac(lane, from, to), 0) / own.length;
      return `${formatCount(own.length, kind)} ${formatPercent(busy)} busy`;
    })
    .join(", ");
}
