/** The schedule of a run: a strip over all steps to find the odd one, and one step's ranks × micro-batches to scale. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { runOptions } from "@/api/runs";
import { isOver, type Run } from "@/api/types";
import { Blank } from "@/components/blank";
import { useRunCharts } from "@/components/chart/use-run-charts";
import { LoadingBars } from "@/components/loading-bars";
import { NoSteps } from "@/components/no-steps";
import { useFirstRlStep } from "@/components/use-first-rl-step";
import { useShortcuts } from "@/lib/shortcuts";
import { usePaced } from "@/lib/use-paced";
import type { ScheduleSearch, ScheduleSearchPatch } from "./schedule-search";
import { StepStrip } from "./step-strip";
import { StepView } from "./step-view";
import { useStep } from "./use-step";

export interface SchedulePageProps {
  runId: string;
  search: ScheduleSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: ScheduleSearchPatch) => void;
}

const STRIP_ROWS = 5;
/** Steps may come many times a second; each costs two requests. */
const PACE_MS = 500;
const LEFT = "ArrowLeft";
const RIGHT = "ArrowRight";
/** Steps that Shift with an arrow key goes. */
const FAR = 10;

export function SchedulePage(props: SchedulePageProps) {
  const { data: run } = useQuery(runOptions(props.runId));
  if (!run) return <LoadingBars rows={STRIP_ROWS} />;
  if (run.last === null) {
    return (
      <Blank>
        <NoSteps state={run.state} />
      </Blank>
    );
  }
  return <RunSchedule key={props.runId} {...props} run={run} newest={run.last.step} />;
}

function RunSchedule({
  runId,
  search,
  setSearch: setAnySearch,
  run,
  newest,
}: SchedulePageProps & { run: Run; newest: number }) {
  const isLive = !isOver(run.state);
  // Another step has other samples.
  const setSearch: SchedulePageProps["setSearch"] = (patch) =>
    setAnySearch("step" in patch ? { sample: undefined, ...patch } : patch);
  const firstRlStep = useFirstRlStep(run, isLive);
  const charts = useRunCharts(runId, "step", null, isLive);
  const [isRead, setIsRead] = useState(false);
  const followed = usePaced(newest, PACE_MS, isRead);
  const step = search.step ?? followed;
  const shown = useStep(runId, step, newest);
  const onStep = (by: number) => setSearch({ step: Math.min(newest, Math.max(0, step + by)) });
  useShortcuts({
    [LEFT]: ({ shiftKey }) => onStep(shiftKey ? -FAR : -1),
    [RIGHT]: ({ shiftKey }) => onStep(shiftKey ? FAR : 1),
  });
  return (
    <>
      <StepStrip
        runId={runId}
        charts={charts}
        selected={step}
        row={shown.row}
        warmsUp={run.spec?.warm_start != null}
        firstRlStep={firstRlStep}
        find={search.find}
        onFind={(find) => setSearch({ find })}
        onSelect={(chosen) => setSearch({ step: chosen })}
      />
      <StepView
        run={run}
        step={step}
        newest={newest}
        shown={shown}
        isFollowing={isLive && search.step === undefined}
        isWaiting={isRead && followed < newest}
        onRead={setIsRead}
        canFollow={isLive}
        search={search}
        setSearch={setSearch}
        onStep={onStep}
      />
    </>
  );
}
