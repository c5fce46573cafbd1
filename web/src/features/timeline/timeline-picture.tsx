/** The picture itself: the axis, the lanes and their legend, or the table behind them. */
import type { XRange } from "@/components/chart/chart-group";
import { formatCount, formatPercent } from "@/lib/numbers";
import { kindsFoldedAtFirst } from "./lane-rows";
import { TimelineAxis } from "./timeline-axis";
import { TimelineLegend } from "./timeline-facts";
import { TimelineLanes } from "./timeline-lanes";
import { busyFrac, lanesByKind, type Timeline } from "./timeline-model";
import type { TimelineSearch, TimelineSearchPatch } from "./timeline-search";
import { TimelineTable } from "./timeline-table";
import { WHOLE } from "./timeline-toolbar";

export interface TimelinePictureProps {
  search: TimelineSearch;
  setSearch: (patch: TimelineSearchPatch) => void;
  timeline: Timeline;
  batchSizes: ReadonlyMap<number, number>;
  label: string;
  range: XRange;
  onRange: (range: XRange | null) => void;
  /** Told whether the picture is read, or something in it is aimed at. */
  onRead: (isRead: boolean) => void;
}

export function TimelinePicture(props: TimelinePictureProps) {
  const { timeline, batchSizes, label, search, setSearch, range, onRange, onRead } = props;
  const folded = search.folded ?? kindsFoldedAtFirst(timeline.lanes);
  if (search.table) return <TimelineTable timeline={timeline} range={range} label={label} />;
  return (
    <>
      <TimelineAxis
        marks={timeline.marks}
        batchSizes={batchSizes}
        range={range}
        onRange={onRange}
        onRead={onRead}
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
        onRead={onRead}
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
