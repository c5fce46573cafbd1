/** One response: what became of it and where it was trained, its tokens shaded, or laid beside another one. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { problemSentence } from "@/api/problem";
import { rolloutOptions } from "@/api/rollouts";
import type { RolloutDetail } from "@/api/types";
import { IconButton } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import { ForeignText } from "@/components/foreign-text";
import { LoadingBars } from "@/components/loading-bars";
import { NotKept } from "@/components/not-kept";
import { ProblemPanel } from "@/components/problem-panel";
import { Segmented } from "@/components/segmented";
import { classNames } from "@/lib/class-names";
import { copyText } from "@/lib/copy-text";
import { formatInteger, formatMetric, formatRange } from "@/lib/numbers";
import { wordsOf } from "@/lib/texts";
import { fateOf } from "./group-facts";
import pane from "./pane.module.css";
import styles from "./rollout-view.module.css";
import type { Shade } from "./rollouts-search";
import {
  gapOf,
  hitTokens,
  LEGENDS,
  meanOf,
  pushOf,
  restOf,
  shadeChoices,
  shadesOf,
  type TokenColumns,
} from "./token-shades";
import { TokenStrip } from "./token-strip";
import { TokenText } from "./token-text";

const RETRY_S = 5;
const LOADING_ROWS = 10;
const SHADE_LABELS: Record<Shade, string> = {
  log_prob: "Log-prob",
  advantage: "Advantage",
  gap: "Trainer gap",
  none: "None",
};

export interface RolloutViewProps {
  runId: string;
  rolloutId: string;
  /** Its number in the group. */
  index: number;
  shade: Shade;
  onShade: (shade: Shade) => void;
  query: string;
}

export function RolloutView(props: RolloutViewProps) {
  const { runId, rolloutId, index } = props;
  const { data, error, refetch, isPlaceholderData } = useQuery(rolloutOptions(runId, rolloutId));
  const name = `Rollout ${formatInteger(index)}`;
  if (!data || (error && isPlaceholderData)) {
    return (
      <section className={pane.pane} aria-label={name}>
        {error ? (
          <ProblemPanel
            title={`${name} did not load`}
            detail={problemSentence(error)}
            onRetry={refetch}
            retryAfterS={RETRY_S}
          />
        ) : (
          <LoadingBars rows={LOADING_ROWS} onRetry={refetch} />
        )}
      </section>
    );
  }
  return (
    <section className={pane.pane} aria-label={name} data-old={isPlaceholderData || undefined}>
      <div className={classNames(pane.head, styles.head)}>
        <h2 title={data.rollout_id}>{name}</h2>
        <span className={styles.note}>{factsText(data)}</span>
        {data.text !== null && (
          <IconButton
            icon="copy"
            label="Copy response"
            onClick={() => void copyText(data.text ?? "", "Response")}
          />
        )}
      </div>
      <Place runId={runId} rollout={data} />
      <Response key={data.rollout_id} {...props} rollout={data} />
    </section>
  );
}

function factsText(rollout: RolloutDetail): string {
  const { first_policy_version: first, last_policy_version: last, log_probs, truncated } = rollout;
  const mean = meanOf(log_probs);
  return [
    `policy version ${formatRange(first, last)}`,
    ...(mean === null ? [] : [`mean log-prob ${formatMetric("log_prob", Math.round(mean * 1e3) / 1e3)}`]),
    ...(truncated ? ["truncated"] : []),
  ].join(", ");
}

/** What became of it, and the way to its place in the schedule. */
function Place({ runId, rollout }: { runId: string; rollout: RolloutDetail }) {
  const { fate, reason } = fateOf(rollout);
  const { place, later } = rollout;
  const sample = place?.samples[0];
  return (
    <p className={styles.place}>
      <b>{fate === "trained" ? "Trained" : fate === "carried" ? "Carried on" : wordsOf(fate)}</b>
      {reason && <bdi> {wordsOf(reason)}</bdi>}
      {place && <> in step {formatInteger(place.step)}</>}
      {later && (
        <>, after {later.age === 1 ? "an iteration" : `${formatInteger(later.age)} iterations`} of waiting</>
      )}
      {rollout.superseded && <>; a later attempt ran this iteration again</>}
      {place && sample && (
        <>
          {", "}
          <Link
            className={styles.link}
            to="/runs/$runId/schedule"
            params={{ runId }}
            search={{ step: place.step, sample: sample.index }}
          >
            {place.samples.length > 1
              ? `${formatInteger(place.samples.length)} samples, the first on `
              : `sample ${formatInteger(sample.index)} on `}
            rank {formatInteger(sample.dp_rank)}, micro-batch {formatInteger(sample.micro_batch)}
          </Link>
        </>
      )}
    </p>
  );
}

function Response(props: RolloutViewProps & { rollout: RolloutDetail }) {
  const { rollout, shade: wanted, onShade, query } = props;
  const [hot, setHot] = useState<number | null>(null);
  const tokens: TokenColumns = rollout;
  const { advantage } = rollout;
  const choices = shadeChoices(tokens, advantage);
  const shade = choices.includes(wanted) ? wanted : (choices[0] ?? "none");
  const shades = useMemo(() => shadesOf(tokens, shade, advantage), [tokens, shade, advantage]);
  const hits = useMemo(() => hitTokens(tokens.pieces, query), [tokens, query]);
  if (rollout.text === null) {
    return (
      <EmptyState title="This response is not kept">
        <NotKept
          runId={props.runId}
          kind="rollouts"
          what={`Texts of iteration ${formatInteger(rollout.iteration)} were not kept`}
        />{" "}
        Rewards, counts and books are complete.
      </EmptyState>
    );
  }
  const numPlain = rollout.num_tokens - tokens.pieces.length;
  return (
    <>
      <div className={styles.bar}>
        <span className={styles.label}>Shade</span>
        <Segmented
          label="Shade"
          options={choices.map((value) => ({ value, label: SHADE_LABELS[value] }))}
          value={shade}
          onChange={onShade}
        />
        {shade !== "none" && <Legend shade={shade} />}
        <span className={styles.recorded}>
          {tokens.pieces.length === 0
            ? "Its tokens are not recorded."
            : numPlain > 0 &&
              `${formatInteger(tokens.pieces.length)} of ${formatInteger(rollout.num_tokens)} tokens recorded`}
        </span>
      </div>
      {shade !== "none" && <Strip rollout={rollout} shade={shade} hot={hot} onHot={setHot} />}
      {tokens.pieces.length === 0 ? (
        <div className={styles.plain}>
          <ForeignText text={rollout.text} />
        </div>
      ) : (
        <TokenText
          tokens={tokens}
          shades={shades}
          rest={restOf(rollout.text, tokens.pieces)}
          numTokens={rollout.num_tokens}
          advantage={advantage}
          hits={hits}
          hot={hot}
          onHot={setHot}
        />
      )}
    </>
  );
}

function Legend({ shade }: { shade: Exclude<Shade, "none"> }) {
  const { low, tokens, high, title } = LEGENDS[shade];
  return (
    <span className={styles.legend} title={title}>
      {low}
      <span aria-hidden="true">
        {tokens.map((token) => (
          <i key={token} style={{ background: `var(--${token})` }} />
        ))}
      </span>
      {high}
    </span>
  );
}

interface StripProps {
  rollout: RolloutDetail;
  shade: Exclude<Shade, "none">;
  hot: number | null;
  onHot: (index: number) => void;
}

function Strip({ rollout, shade, hot, onHot }: StripProps) {
  const values = useMemo(() => {
    if (shade === "log_prob") return rollout.log_probs;
    if (shade === "gap") return rollout.pieces.map((_, i) => gapOf(rollout, i));
    return rollout.pieces.map((_, i) => pushOf(rollout, i, rollout.advantage));
  }, [rollout, shade]);
  const most = Math.max(...values.map((value) => Math.abs(value ?? 0)));
  const reach = shade === "gap" ? (most > 0.5 ? 2 : 0.5) : Math.max(1, Math.ceil(most));
  const [low, high] = shade === "log_prob" ? [-6, 0] : [-reach, reach];
  return (
    <TokenStrip label={SHADE_LABELS[shade]} values={values} low={low} high={high} hot={hot} onHot={onHot} />
  );
}
