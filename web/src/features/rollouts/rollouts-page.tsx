/** The rollouts of a run: groups, one group, one response, in one view. */
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { problemSentence } from "@/api/problem";
import { booksOptions } from "@/api/rollouts";
import { runOptions } from "@/api/runs";
import { isOver, type RecordedPart, type RolloutGroup, type Run } from "@/api/types";
import { Blank } from "@/components/blank";
import { Button } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import { ProblemPanel } from "@/components/problem-panel";
import { isInHand } from "@/lib/in-hand";
import { formatInteger } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import { DiffView } from "./diff-view";
import { GroupList } from "./group-list";
import { GroupView } from "./group-view";
import { LoadingPanes } from "./loading-panes";
import { RolloutView } from "./rollout-view";
import styles from "./rollouts.module.css";
import { parseFilter, type RolloutsSearch, type RolloutsSearchPatch } from "./rollouts-search";
import { ClearFilter, RolloutsToolbar, UNCHOSEN } from "./rollouts-toolbar";
import { type ShownRollouts, useRollouts } from "./use-rollouts";

const RETRY_S = 5;
/** Iterations that Shift with an arrow key goes. */
const FAR = 10;
const LEFT = "ArrowLeft";
const RIGHT = "ArrowRight";
const NEXT_ROLLOUT = "J";
const ROLLOUT_BEFORE = "K";

export interface RolloutsPageProps {
  runId: string;
  search: RolloutsSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: RolloutsSearchPatch) => void;
}

export function RolloutsPage({ runId, search, setSearch }: RolloutsPageProps) {
  const panes = useRef<HTMLDivElement>(null);
  const [, setLeaves] = useState(0);
  const shown = useRollouts(runId, search, isInHand(panes.current));
  const { scope, groups, chosen, rolloutId } = shown;
  const { data: books } = useQuery({
    ...booksOptions(runId, scope.iteration ?? 0),
    enabled: scope.iteration !== null,
  });
  const onIteration = (by: number) => {
    if (scope.iteration === null || scope.newest === null) return;
    const to = Math.min(scope.newest, Math.max(0, scope.iteration + by));
    setSearch({ iteration: to, ...UNCHOSEN });
  };
  const onGroup = (group: RolloutGroup) =>
    setSearch({ group: group.group_id, rollout: group.rollouts[0]?.rollout_id, diff: undefined });
  const moveGroup = (by: number) => {
    const to = groups[Math.max(0, (chosen ? groups.indexOf(chosen) : -1) + by)];
    if (to) onGroup(to);
  };
  const onRollout = (id: string) => {
    if (search.diff === undefined) setSearch({ rollout: id });
    else if (id !== rolloutId) setSearch({ diff: id, rollout: rolloutId ?? undefined });
  };
  const moveRollout = (by: number) => {
    const ids = chosen?.rollouts.map(({ rollout_id }) => rollout_id) ?? [];
    const to = ids[ids.indexOf(search.diff ?? rolloutId ?? "") + by];
    if (to !== undefined) onRollout(to);
  };
  useShortcuts({
    j: () => moveGroup(1),
    k: () => moveGroup(-1),
    [NEXT_ROLLOUT]: () => moveRollout(1),
    [ROLLOUT_BEFORE]: () => moveRollout(-1),
    [LEFT]: ({ shiftKey }) => onIteration(shiftKey ? -FAR : -1),
    [RIGHT]: ({ shiftKey }) => onIteration(shiftKey ? FAR : 1),
  });
  return (
    <>
      <RolloutsToolbar
        search={search}
        setSearch={setSearch}
        scope={scope}
        books={scope.iteration === null ? null : (books ?? null)}
        recorded={scope.iteration === null && scope.step === null ? shown.recorded : null}
        onIteration={onIteration}
      />
      {chosen ? (
        <div ref={panes} className={styles.panes} onPointerLeave={() => setLeaves((old) => old + 1)}>
          <GroupList
            groups={groups}
            chosen={chosen}
            onChoose={onGroup}
            onEnd={shown.onEnd}
            hasIterations={scope.iteration === null}
            isOld={shown.isOld}
          />
          <GroupView
            runId={runId}
            group={chosen}
            rolloutId={rolloutId}
            diffId={search.diff ?? null}
            onChoose={onRollout}
            onDiff={(isOn) =>
              setSearch({
                diff: isOn ? otherThan(chosen, rolloutId) : undefined,
                rollout: rolloutId ?? undefined,
              })
            }
          />
          {rolloutId !== null && (
            <Text runId={runId} group={chosen} rolloutId={rolloutId} search={search} setSearch={setSearch} />
          )}
        </div>
      ) : isOnItsWay(shown) ? (
        <LoadingPanes runId={runId} onRetry={shown.retry} />
      ) : (
        <Blank>
          <Nothing runId={runId} search={search} setSearch={setSearch} shown={shown} />
        </Blank>
      )}
    </>
  );
}

/** What is worth comparing with a response: the one whose reward differs most. */
function otherThan({ rollouts }: RolloutGroup, rolloutId: string | null): string | undefined {
  const own = rollouts.find(({ rollout_id }) => rollout_id === rolloutId)?.reward ?? 0;
  const others = rollouts.filter(({ rollout_id }) => rollout_id !== rolloutId);
  const distance = (reward: number | null) => (reward === null ? -1 : Math.abs(reward - own));
  return others.sort((a, b) => distance(b.reward) - distance(a.reward))[0]?.rollout_id;
}

interface TextProps extends RolloutsPageProps {
  group: RolloutGroup;
  rolloutId: string;
}

function Text({ runId, group, rolloutId, search, setSearch }: TextProps) {
  const ids = group.rollouts.map(({ rollout_id }) => rollout_id);
  if (search.diff !== undefined && ids.includes(search.diff)) {
    const other = search.diff;
    return (
      <DiffView
        runId={runId}
        rollouts={group.rollouts}
        firstId={rolloutId}
        secondId={other}
        onSwap={() => setSearch({ rollout: other, diff: rolloutId })}
      />
    );
  }
  return (
    <RolloutView
      runId={runId}
      rolloutId={rolloutId}
      index={ids.indexOf(rolloutId)}
      shade={search.shade ?? "log_prob"}
      onShade={(shade) => setSearch({ shade })}
      query={search.q ?? ""}
    />
  );
}

/** Whether there may be groups, and nothing says yet that there are none. */
function isOnItsWay({ error, isLoading, recorded }: ShownRollouts): boolean {
  return !error && isLoading && recorded?.num_recorded_groups !== 0;
}

function Nothing({ runId, search, setSearch, shown }: RolloutsPageProps & { shown: ShownRollouts }) {
  const { data: run } = useQuery(runOptions(runId));
  const { error, recorded, retry, scope } = shown;
  if (error) {
    return (
      <ProblemPanel
        title="The rollouts did not load"
        detail={problemSentence(error)}
        onRetry={retry}
        retryAfterS={RETRY_S}
      />
    );
  }
  if (recorded && recorded.num_recorded_groups === 0) {
    return <NotRecorded recorded={recorded} run={run} />;
  }
  if (Object.keys(parseFilter({ ...search })).length > 0) {
    return (
      <EmptyState title="No rollout matches" actions={<ClearFilter setSearch={setSearch} />}>
        {scope.iteration !== null
          ? `None of iteration ${formatInteger(scope.iteration)} is as the filter says.`
          : "None is as the filter says."}
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title={
        search.step !== undefined
          ? `No rollout of step ${formatInteger(search.step)} is recorded`
          : `No rollout of iteration ${formatInteger(scope.iteration ?? 0)} is recorded`
      }
      actions={
        <Button onClick={() => setSearch({ step: undefined, iteration: undefined, ...UNCHOSEN })}>
          Newest iteration
        </Button>
      }
    >
      A run records some groups of each iteration (recording.groups_per_iteration). Its schedule and metrics
      are complete.
    </EmptyState>
  );
}

/** Nothing at all, and why. */
function NotRecorded({ recorded, run }: { recorded: RecordedPart; run: Run | undefined }) {
  if (recorded.num_groups > 0) {
    return (
      <EmptyState title="Rollouts are not recorded">
        In this run recording.groups_per_iteration is 0. Its books, schedules and metrics are complete.
      </EmptyState>
    );
  }
  if (run?.kind === "external") {
    return (
      <EmptyState title="No rollouts were recorded">
        The framework that reports this run told nothing of them.
      </EmptyState>
    );
  }
  return run && isOver(run.state) ? (
    <EmptyState title="No rollouts were recorded">
      {run.num_steps === 0
        ? "This run ended before its first iteration did."
        : "Its steps, schedules and metrics were recorded without their texts."}
    </EmptyState>
  ) : (
    <EmptyState title="No rollouts yet">
      They are recorded when their iteration has trained its last step.
    </EmptyState>
  );
}
