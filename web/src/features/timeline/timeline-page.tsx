/** Who did what when within steps of a run, who waited, and what is odd about it. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { problemSentence } from "@/api/problem";
import { runOptions } from "@/api/runs";
import { isOver, type Run } from "@/api/types";
import { Blank } from "@/components/blank";
import { zoomed } from "@/components/chart/zoom";
import { LoadingBars } from "@/components/loading-bars";
import { NoSteps } from "@/components/no-steps";
import { ProblemPanel } from "@/components/problem-panel";
import { formatRange } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import { AdvisoryPanel } from "./advisory-panel";
import { MissingSteps, NoTimeline } from "./missing-steps";
import { around, wholeOf } from "./time-range";
import styles from "./timeline.module.css";
import { LoadingFacts, TimelineFacts } from "./timeline-facts";
import { TimelinePicture } from "./timeline-picture";
import type { TimelineSearch, TimelineSearchPatch } from "./timeline-search";
import { TimelineToolbar, WHOLE } from "./timeline-toolbar";
import { useShownTimeline } from "./use-shown-timeline";
import { type Moved, useWindow } from "./use-window";

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
          <Blank>
            <NoSteps state={run.state} />
          </Blank>
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

interface RunTimelineProps extends TimelinePageProps {
  run: Run;
  newest: number;
}

function RunTimeline({ runId, search, setSearch, run, newest }: RunTimelineProps) {
  const isLive = !isOver(run.state);
  const [moved, setMoved] = useState<Moved | null>(null);
  const [isRead, setIsRead] = useState(false);
  const isHeld = isRead || moved !== null;
  const shown = useShownTimeline(runId, search, newest, isHeld);
  const { first, last: step, data, timeline } = shown;
  const { range, onRange, isWhole } = useWindow({ search, setSearch, moved, setMoved }, shown);
  const onStep = (by: number) => setSearch({ step: Math.min(newest, Math.max(0, step + by)), ...WHOLE });
  const onZoom = (factor: number | null) =>
    onRange(factor === null ? null : zoomed(range, wholeOf(timeline), null, factor));
  useTimelineKeys({ onStep, onZoom, onTable: () => setSearch({ table: !search.table }) });
  const label = `Timeline of ${first === step ? "step" : "steps"} ${formatRange(first, step)}`;
  const hasSpans = timeline.lanes.length > 0;
  const view = { search, setSearch };
  return (
    <>
      <section className={styles.main} aria-label={label} data-old={shown.isOld || undefined}>
        <TimelineToolbar
          {...view}
          step={step}
          newest={newest}
          first={first}
          isFollowing={isLive && search.step === undefined}
          isWaiting={isHeld && step < newest}
          canFollow={isLive}
          onStep={onStep}
          onZoom={onZoom}
          isWhole={isWhole}
        />
        {data && hasSpans ? (
          <TimelinePicture
            {...view}
            timeline={timeline}
            batchSizes={shown.batchSizes}
            label={label}
            range={range}
            onRange={onRange}
            onRead={setIsRead}
          />
        ) : (
          <NoPicture runId={runId} shown={shown} />
        )}
        {data && <MissingSteps items={data.items} nextFrom={data.next_from} last={step} />}
      </section>
      <aside className={styles.facts} aria-label="Facts of the timeline">
        {!data && !shown.error && <LoadingFacts />}
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

interface Keys {
  onStep: (by: number) => void;
  /** Null: all there is. */
  onZoom: (factor: number | null) => void;
  onTable: () => void;
}

function useTimelineKeys({ onStep, onZoom, onTable }: Keys): void {
  useShortcuts({
    [LEFT]: ({ shiftKey }) => onStep(shiftKey ? -FAR : -1),
    [RIGHT]: ({ shiftKey }) => onStep(shiftKey ? FAR : 1),
    "+": () => onZoom(IN),
    "-": () => onZoom(1 / IN),
    "0": () => onZoom(null),
    t: onTable,
  });
}

interface NoPictureProps {
  runId: string;
  shown: ReturnType<typeof useShownTimeline>;
}

/** Not yet, not at all, or it could not be asked for. */
function NoPicture({ runId, shown }: NoPictureProps) {
  const { data, error, refetch, first, last } = shown;
  return (
    <div className={styles.empty}>
      {data && <NoTimeline runId={runId} first={first} last={last} />}
      {!data && error && (
        <ProblemPanel
          title="The timeline did not load"
          detail={problemSentence(error)}
          onRetry={refetch}
          retryAfterS={RETRY_S}
        />
      )}
      {!data && !error && <LoadingBars rows={LOADING_ROWS} rowHeight={ROW_PX} onRetry={refetch} />}
    </div>
  );
}
