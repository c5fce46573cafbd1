/** The groups that match, as many as are seen: prompt, fate, rewards, mean. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useMemo, useRef } from "react";
import type { RolloutGroup } from "@/api/types";
import { formatInteger, formatMetric, MISSING } from "@/lib/numbers";
import {
  fateText,
  isLeftOut,
  keyOf,
  lengthsText,
  type RewardScale,
  rewardScale,
  shortId,
} from "./group-facts";
import styles from "./group-list.module.css";
import pane from "./pane.module.css";
import { promptEnd, sharedBeginning } from "./prompt-ends";
import { RewardBars } from "./reward-bars";

export const GROUP_ROW_PX = 49;
const OVERSCAN = 10;
/** So near to the last row the next page is asked for. */
const NEAR_END = 15;

export interface GroupListProps {
  groups: readonly RolloutGroup[];
  chosen: RolloutGroup | null;
  onChoose: (group: RolloutGroup) => void;
  onEnd: (() => void) | null;
  /** Iterations are told where the list has several. */
  hasIterations: boolean;
  isOld: boolean;
}

export function GroupList({ groups, chosen, onChoose, onEnd, hasIterations, isOld }: GroupListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const scale = useMemo(() => rewardScale(groups.flatMap(({ rewards }) => rewards.rewards)), [groups]);
  const shared = useMemo(() => sharedBeginning(groups.map(({ prompt }) => prompt)), [groups]);
  const rows = useVirtualizer({
    count: groups.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => GROUP_ROW_PX,
    overscan: OVERSCAN,
    getItemKey: (i) => keyOf(groups[i]) ?? i,
    // New groups come in on top: whoever has scrolled on goes on reading.
    anchorTo: (scroller.current?.scrollTop ?? 0) > 0 ? "end" : "start",
  });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onEnd && last >= groups.length - NEAR_END) onEnd();
  }, [onEnd, last, groups.length]);
  const chosenKey = keyOf(chosen ?? undefined);
  const at = groups.findIndex((group) => keyOf(group) === chosenKey);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once it is chosen, not whenever others come before it
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at, { align: "auto" });
  }, [rows, chosenKey]);
  return (
    <section className={pane.pane} aria-label="Groups">
      <div className={pane.head}>
        <h2>Groups</h2>
        <span className={styles.count}>
          {formatInteger(groups.length)}
          {onEnd && " and more"}
        </span>
        <span className={styles.note}>rewards, best first</span>
        <span className={styles.noteMean}>mean, std</span>
      </div>
      <div ref={scroller} className={styles.scroller} data-old={isOld || undefined}>
        <ul className={styles.list} style={{ height: rows.getTotalSize() }}>
          {items.map(({ index, key, start }) => {
            const group = groups[index];
            return (
              group && (
                <li key={key} className={styles.item} style={{ transform: `translateY(${start}px)` }}>
                  <GroupRow
                    group={group}
                    scale={scale}
                    shared={shared}
                    isChosen={group === chosen}
                    hasIteration={hasIterations}
                    onChoose={onChoose}
                  />
                </li>
              )
            );
          })}
        </ul>
      </div>
    </section>
  );
}

interface GroupRowProps {
  group: RolloutGroup;
  scale: RewardScale;
  /** Characters that all prompts begin with. */
  shared: number;
  isChosen: boolean;
  hasIteration: boolean;
  onChoose: (group: RolloutGroup) => void;
}

const GroupRow = memo(function GroupRow(props: GroupRowProps) {
  const { group, scale, shared, isChosen, hasIteration, onChoose } = props;
  const { rollouts, rewards } = group;
  return (
    <button
      type="button"
      className={styles.row}
      data-off={isLeftOut(rollouts) || undefined}
      aria-current={isChosen || undefined}
      onClick={() => onChoose(group)}
    >
      <bdi className={styles.id} title={group.group_id}>
        {shortId(group.group_id)}
      </bdi>
      <span className={styles.what}>
        <span className={styles.prompt} data-gone={group.prompt === null || undefined} dir="auto">
          {group.prompt === null ? "The prompt is not kept" : promptEnd(group.prompt, shared)}
        </span>
        <span className={styles.facts}>
          {hasIteration && <span>iteration {formatInteger(group.iteration)}</span>}
          <bdi className={styles.fate}>{fateText(rollouts)}</bdi>
          <span>{lengthsText(rollouts)}</span>
          {group.num_matching < rewards.rewards.length && (
            <span>
              {formatInteger(group.num_matching)} of {formatInteger(rewards.rewards.length)}
            </span>
          )}
        </span>
      </span>
      <RewardBars rewards={rewards.rewards} scale={scale} />
      <span className={styles.mean}>
        <b>{rewards.mean === null ? MISSING : formatMetric("reward", rewards.mean)}</b>
        {rewards.std !== null && <small>±{formatMetric("reward", rewards.std)}</small>}
      </span>
    </button>
  );
});
