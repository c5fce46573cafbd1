/** A step that ran beside the same samples under other settings, answered while the controls move. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { problemSentence } from "@/api/problem";
import type { Geometry, Run, Schedule, StepSchedule, WhatIf } from "@/api/types";
import { whatIfOptions } from "@/api/what-if";
import { Banner } from "@/components/banner";
import { ButtonLink } from "@/components/button-link";
import { formatDuration } from "@/lib/durations";
import { formatInteger } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import { useDebounced } from "@/lib/use-debounced";
import { type ColouredStep, type ColourScale, colourScale } from "../cell-colours";
import type { Colour, ScheduleSearch, ScheduleSearchPatch } from "../schedule-search";
import { assumptionText, changesOf, geometryOf, geometryText, scaleText } from "./choices";
import { Controls } from "./controls";
import { Deltas, deltaSentence, deltasOf } from "./deltas";
import { lanesOfBoth } from "./lanes";
import { MiniGrid } from "./mini-grid";
import styles from "./what-if.module.css";

export interface WhatIfPanelProps {
  run: Run;
  record: StepSchedule;
  scale: ColourScale;
  colour: Colour;
  step: ColouredStep;
  search: ScheduleSearch;
  setSearch: (patch: ScheduleSearchPatch) => void;
}

/** A slider tells every pixel; so often the server is asked. */
const DRAG_MS = 80;

export function WhatIfPanel(props: WhatIfPanelProps) {
  const { run, record, colour, search } = props;
  const { schedule, step } = record;
  // What is asked is asked of this step, also when newer ones come.
  const setSearch: WhatIfPanelProps["setSearch"] = (patch) =>
    props.setSearch(search.step === undefined ? { step, ...patch } : patch);
  const scale = useComparedScale(props);
  const controls = useRef<HTMLDivElement>(null);
  useShortcuts({
    w: () => {
      controls.current?.scrollIntoView({ block: "nearest" });
      controls.current?.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
    },
  });
  const ran = useMemo(() => geometryOf(schedule), [schedule]);
  const changes = changesOf(ran, search);
  const isAsked = Object.keys(changes).length > 0;
  const settled = useDebounced(JSON.stringify(changes), DRAG_MS);
  const asking = useMemo(() => JSON.parse(settled), [settled]);
  const answer = useQuery({ ...whatIfOptions(record.run_id, step, asking), enabled: isAsked });
  // An answer to another step says nothing of this one.
  const shown = isAsked && answer.data && fits(schedule, answer.data) ? answer.data : undefined;
  const asked: Geometry = { ...ran, ...changes };
  const tp = run.spec?.parallelism?.tp ?? 1;
  return (
    <section className={styles.panel} aria-labelledby="what-if-title">
      <div className={styles.head}>
        <h2 id="what-if-title">What if</h2>
        <p>
          Step {formatInteger(step)} re-scheduled from its stored lengths. Times are estimates on one scale:
          the costs of what ran, added up, take what its micro-batches took together.
          {colour === "padding" && " Coloured by tokens: padding is known only of what ran."}
        </p>
        <ButtonLink to="/new" search={{ from: record.run_id, ...changes }} disabled={!isAsked}>
          Clone run with this layout
        </ButtonLink>
      </div>
      <div className={styles.columns}>
        <Controls ref={controls} ran={ran} asked={asked} tp={tp} setSearch={setSearch} />
        <Sides schedule={schedule} scale={scale} answer={shown} ran={ran} />
      </div>
      {answer.error && isAsked && <Banner kind="error">{problemSentence(answer.error)}</Banner>}
      <Deltas answer={shown} tp={tp} />
      {shown && (
        <p className={styles.assumes}>
          {assumptionText(ran, shown.asked, tp)} {scaleText(shown)}
        </p>
      )}
      <p className="sr-only" role="status">
        {shown && deltaSentence(deltasOf(shown, tp))}
      </p>
    </section>
  );
}

/** What did not run was never padded: both sides are then coloured by something that both have. */
function useComparedScale({ record: { schedule }, scale, colour, step }: WhatIfPanelProps): ColourScale {
  return useMemo(
    () => (colour === "padding" ? colourScale(schedule, "tokens", step) : scale),
    [schedule, scale, colour, step],
  );
}

function fits(schedule: Schedule, answer: WhatIf): boolean {
  return answer.certificate_sha256 === schedule.certificate_sha256;
}

interface SidesProps {
  schedule: Schedule;
  scale: ColourScale;
  ran: Geometry;
  answer: WhatIf | undefined;
}

function Sides({ schedule, scale, ran, answer }: SidesProps) {
  const lanes = useMemo(() => lanesOfBoth(schedule, answer), [schedule, answer]);
  const time = (seconds: number | null | undefined) => (seconds ? formatDuration(seconds) : "");
  const measured = answer?.ran_measured;
  return (
    <>
      <div className={styles.side}>
        <SideHead
          title="As it ran, estimated"
          text={geometryText(ran)}
          time={time(answer?.ran_figures.predicted_s)}
          note={measured ? `measured: ${formatDuration(measured.makespan_s)}` : ""}
        />
        <MiniGrid lanes={lanes.ran} scale={scale} label={`As it ran, estimated: ${geometryText(ran)}`} />
      </div>
      <div className={styles.side}>
        <SideHead
          title="What if, estimated"
          text={answer ? geometryText(answer.asked) : ""}
          time={time(answer?.asked_figures.predicted_s)}
        />
        {answer && lanes.asked ? (
          <MiniGrid
            lanes={lanes.asked}
            scale={scale}
            label={`What if, estimated: ${geometryText(answer.asked)}`}
            {...(lanes.asked.end < lanes.ran.end && {
              ghost: { at: lanes.ran.end, text: "as it ran, estimated" },
            })}
          />
        ) : (
          <p className={styles.hint}>Change a setting: the same samples appear here under it.</p>
        )}
      </div>
    </>
  );
}

interface SideHeadProps {
  title: string;
  text: string;
  time: string;
  note?: string;
}

function SideHead({ title, text, time, note = "" }: SideHeadProps) {
  return (
    <h3 className={styles.sideHead}>
      {title} <span>{text}</span> <b>{time}</b>
      {note && <span className={styles.measured}>{note}</span>}
    </h3>
  );
}
