/** Which steps, how many of them, and how near. */
import { Button, IconButton, Toggle } from "@/components/button";
import { Segmented } from "@/components/segmented";
import { formatInteger, formatRange } from "@/lib/numbers";
import styles from "./timeline.module.css";
import { COUNTS, type TimelineSearch, type TimelineSearchPatch } from "./timeline-search";

export interface TimelineToolbarProps {
  step: number;
  newest: number;
  /** First of the steps that are shown. */
  first: number;
  isFollowing: boolean;
  /** It is read: the step stays, although there is a newer one. */
  isWaiting: boolean;
  canFollow: boolean;
  search: TimelineSearch;
  setSearch: (patch: TimelineSearchPatch) => void;
  onStep: (by: number) => void;
  onZoom: (factor: number | null) => void;
  isWhole: boolean;
}

const IN = 0.6;

export function TimelineToolbar(props: TimelineToolbarProps) {
  const {
    step,
    newest,
    first,
    isFollowing,
    isWaiting,
    canFollow,
    search,
    setSearch,
    onStep,
    onZoom,
    isWhole,
  } = props;
  const count = search.steps ?? 1;
  return (
    <div className={styles.toolbar}>
      <div className={styles.group}>
        <IconButton icon="left" label="Step before" disabled={step <= 0} onClick={() => onStep(-1)} />
        <h2>
          {first === step ? "Step" : "Steps"} {formatRange(first, step)}
        </h2>
        <IconButton icon="right" label="Next step" disabled={step >= newest} onClick={() => onStep(1)} />
        {isFollowing && (
          <span className={styles.newest}>{isWaiting ? "waits while it is read" : "newest step"}</span>
        )}
        {canFollow && !isFollowing && (
          <Button variant="ghost" onClick={() => setSearch({ step: undefined, ...WHOLE })}>
            Follow the newest
          </Button>
        )}
      </div>
      <div className={styles.group}>
        <span className={styles.label}>Steps</span>
        <Segmented
          label="Steps in view"
          options={[...new Set([...COUNTS, count])]
            .sort((a, b) => a - b)
            .map((value) => ({ value: String(value), label: formatInteger(value) }))}
          value={String(count)}
          onChange={(value) => setSearch({ steps: Number(value), ...WHOLE })}
        />
        <Button aria-label="Zoom out" disabled={isWhole} onClick={() => onZoom(1 / IN)}>
          −
        </Button>
        <Button aria-label="Zoom in" onClick={() => onZoom(IN)}>
          +
        </Button>
        <Button disabled={isWhole} onClick={() => onZoom(null)}>
          All
        </Button>
        <Toggle isOn={search.table === true} onClick={() => setSearch({ table: !search.table })}>
          Table
        </Toggle>
      </div>
    </div>
  );
}

/** Other steps have another length: no part of them is in view. */
export const WHOLE: TimelineSearchPatch = { from: undefined, to: undefined };
