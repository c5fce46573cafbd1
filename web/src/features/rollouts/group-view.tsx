/** One group: its prompt, its rewards, its rollouts in a table, and reward against length. */
import { useQueries } from "@tanstack/react-query";
import { scheduleOptions, stepOptions } from "@/api/steps";
import type { RolloutGroup, RolloutHead } from "@/api/types";
import { Button } from "@/components/button";
import { ForeignText } from "@/components/foreign-text";
import { NotKept } from "@/components/not-kept";
import { formatCount, formatDelta, formatInteger, formatMetric, MISSING } from "@/lib/numbers";
import { wordsOf } from "@/lib/texts";
import { fateOf, shortId } from "./group-facts";
import styles from "./group-view.module.css";
import pane from "./pane.module.css";
import { RewardScatter } from "./reward-scatter";
import { placesByRollout, type SamplePlace } from "./sample-places";

/** A group is trained in one step, or in the few of its iteration. */
const MOST_STEPS = 4;
/** Width of the bar of the largest advantage, to one side. */
const BAR_PX = 34;

export interface GroupViewProps {
  runId: string;
  group: RolloutGroup;
  rolloutId: string | null;
  diffId: string | null;
  onChoose: (rolloutId: string) => void;
  onDiff: (isOn: boolean) => void;
}

export function GroupView({ runId, group, rolloutId, diffId, onChoose, onDiff }: GroupViewProps) {
  const { rollouts, rewards } = group;
  const { places, tokenCap } = usePlaces(runId, rollouts);
  const name = shortId(group.group_id);
  return (
    <section className={pane.pane} aria-label={`Group ${name}`}>
      <div className={pane.head}>
        <h2 title={group.group_id} dir="auto">
          Group {name}
        </h2>
        <span className={styles.note}>
          {group.num_matching < rewards.rewards.length
            ? `${formatInteger(group.num_matching)} of ${formatCount(rewards.rewards.length, "rollout")} match`
            : formatCount(rewards.rewards.length, "rollout")}
        </span>
        <Button
          variant="ghost"
          className={styles.diff ?? ""}
          aria-pressed={diffId !== null}
          disabled={rollouts.length < 2}
          onClick={() => onDiff(diffId === null)}
        >
          {diffId === null ? "Diff two" : "End diff"}
        </Button>
      </div>
      <div className={styles.scroller}>
        <Prompt runId={runId} group={group} />
        <RolloutTable
          rollouts={rollouts}
          places={places}
          rolloutId={rolloutId}
          diffId={diffId}
          onChoose={onChoose}
        />
        {group.num_matching > rollouts.length && (
          <p className={styles.hint}>
            The first {formatInteger(rollouts.length)} are listed. A filter brings the others.
          </p>
        )}
        <RewardScatter rollouts={rollouts} rolloutId={rolloutId} tokenCap={tokenCap} onChoose={onChoose} />
      </div>
    </section>
  );
}

function Prompt({ runId, group }: { runId: string; group: RolloutGroup }) {
  const { rewards } = group;
  return (
    <div className={styles.prompt}>
      {group.prompt === null ? (
        <p className={styles.gone}>
          <NotKept
            runId={runId}
            kind="rollouts"
            what={`Texts of iteration ${formatInteger(group.iteration)} were not kept`}
            otherwise="Its text is not kept."
          />{" "}
          Rewards, counts and books are complete.
        </p>
      ) : (
        <ForeignText text={group.prompt} />
      )}
      <dl className={styles.facts}>
        {group.answer !== null && (
          <div>
            <dt>answer</dt>
            <dd dir="auto">{group.answer}</dd>
          </div>
        )}
        <div>
          <dt>mean</dt>
          <dd>{formatMetric("reward", rewards.mean)}</dd>
        </div>
        <div>
          <dt>std</dt>
          <dd>{formatMetric("reward", rewards.std)}</dd>
        </div>
        <div>
          <dt>prompt</dt>
          <dd>{formatCount(group.num_prompt_tokens, "token")}</dd>
        </div>
        <div>
          <dt>task</dt>
          <dd dir="auto">{group.task}</dd>
        </div>
      </dl>
    </div>
  );
}

/** Where the rollouts ran, from the schedules of the steps that trained them. */
function usePlaces(runId: string, rollouts: readonly RolloutHead[]) {
  const steps = [...new Set(rollouts.flatMap(({ step, later }) => later?.step ?? step ?? []))];
  const rows = useQueries({ queries: steps.slice(0, MOST_STEPS).map((step) => stepOptions(runId, step)) });
  const scheduled = rows.flatMap(({ data: row }) => (row?.has_schedule ? row.step : []));
  const { data } = useQueries({
    queries: [...new Set(scheduled)].map((step) => scheduleOptions(runId, step)),
    combine: (answers) => ({ data: answers.flatMap((answer) => answer.data?.schedule ?? []) }),
  });
  const places = new Map(data.flatMap((schedule) => [...placesByRollout(schedule)]));
  return { places, tokenCap: data[0]?.token_cap ?? null };
}

interface RolloutTableProps {
  rollouts: readonly RolloutHead[];
  places: ReadonlyMap<string, readonly SamplePlace[]>;
  rolloutId: string | null;
  diffId: string | null;
  onChoose: (rolloutId: string) => void;
}

function RolloutTable({ rollouts, places, rolloutId, diffId, onChoose }: RolloutTableProps) {
  const most = Math.max(1e-9, ...rollouts.map(({ advantage }) => Math.abs(advantage ?? 0)));
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          <th scope="col">#</th>
          <th scope="col">Reward</th>
          <th scope="col" colSpan={2}>
            Advantage
          </th>
          <th scope="col">Tokens</th>
          <th scope="col" className={styles.place}>
            Rank / mb
          </th>
        </tr>
      </thead>
      <tbody>
        {rollouts.map((rollout, i) => (
          <RolloutRow
            key={rollout.rollout_id}
            rollout={rollout}
            index={i}
            mark={markOf(rollout.rollout_id, rolloutId, diffId)}
            place={places.get(rollout.rollout_id)?.[0]}
            mostAdvantage={most}
            onChoose={onChoose}
          />
        ))}
      </tbody>
    </table>
  );
}

type Mark = "chosen" | "A" | "B" | null;

function markOf(id: string, rolloutId: string | null, diffId: string | null): Mark {
  if (id === rolloutId) return diffId === null ? "chosen" : "A";
  return id === diffId ? "B" : null;
}

interface RolloutRowProps {
  rollout: RolloutHead;
  index: number;
  mark: Mark;
  place: SamplePlace | undefined;
  mostAdvantage: number;
  onChoose: (rolloutId: string) => void;
}

function RolloutRow({ rollout, index, mark, place, mostAdvantage, onChoose }: RolloutRowProps) {
  const { rollout_id, reward, advantage, num_tokens, truncated } = rollout;
  const { fate, reason } = fateOf(rollout);
  return (
    <tr aria-current={mark !== null || undefined} onClick={() => onChoose(rollout_id)}>
      <th scope="row">
        <button type="button" className={styles.number} title={rollout_id} aria-pressed={mark !== null}>
          {formatInteger(index)}
          {(mark === "A" || mark === "B") && <i>{mark}</i>}
        </button>
      </th>
      <td>{formatMetric("reward", reward)}</td>
      {advantage === null ? (
        <td colSpan={2} className={styles.fate}>
          <bdi>{reason ? wordsOf(reason) : fate}</bdi>
        </td>
      ) : (
        <>
          <td className={styles.barCell}>
            <span className={styles.bar} aria-hidden="true">
              <i
                data-negative={advantage < 0 || undefined}
                style={{ width: (Math.abs(advantage) / mostAdvantage) * BAR_PX }}
              />
            </span>
          </td>
          <td>{formatDelta("reward", advantage)}</td>
        </>
      )}
      <td>
        {truncated && (
          <span className={styles.cut} title="Truncated: it ended by length">
            cut
          </span>
        )}
        {formatInteger(num_tokens)}
      </td>
      <td className={styles.place}>
        {place ? `${formatInteger(place.rank)} / ${formatInteger(place.microBatch)}` : MISSING}
      </td>
    </tr>
  );
}
