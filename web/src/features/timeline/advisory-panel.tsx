/** What is odd about the newest steps, what it is known from, what to do, and the way to the worst case. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { advisoriesOptions } from "@/api/advisories";
import { problemSentence } from "@/api/problem";
import type { Advisory } from "@/api/types";
import { Button } from "@/components/button";
import { Icon } from "@/components/icon";
import { LoadingBars } from "@/components/loading-bars";
import { Panel } from "@/components/panel";
import { formatInteger } from "@/lib/numbers";
import styles from "./advisory-panel.module.css";

const REFRESH_MS = 10_000;
const LOADING_ROWS = 3;
const SEVERITY_WORDS: Record<Advisory["severity"], string> = {
  critical: "Critical",
  warning: "Warning",
  info: "Worth a look",
};

export function AdvisoryPanel({ runId, isLive }: { runId: string; isLive: boolean }) {
  const { data, error, refetch } = useQuery({
    ...advisoriesOptions(runId),
    refetchInterval: isLive ? REFRESH_MS : false,
  });
  const seen = data?.num_steps ?? 0;
  return (
    <Panel
      title="Advisories"
      headingLevel={3}
      aside={seen > 0 ? `last ${formatInteger(seen)} ${seen === 1 ? "step" : "steps"}` : undefined}
      className={styles.panel}
    >
      {data ? (
        <>
          {data.items.length === 0 && (
            <p className={styles.none}>
              {seen > 0 ? "Nothing odd in these steps." : "They come with the first steps."}
            </p>
          )}
          <ul className={styles.list}>
            {data.items.map((advisory) => (
              <AdvisoryItem key={`${advisory.kind} ${advisory.title}`} runId={runId} advisory={advisory} />
            ))}
          </ul>
        </>
      ) : error ? (
        <p className={styles.none}>
          {problemSentence(error)} <Button onClick={() => void refetch()}>Try now</Button>
        </p>
      ) : (
        <LoadingBars rows={LOADING_ROWS} onRetry={refetch} />
      )}
    </Panel>
  );
}

function AdvisoryItem({ runId, advisory }: { runId: string; advisory: Advisory }) {
  const { severity, title, evidence, advice } = advisory;
  return (
    <li data-severity={severity}>
      <h4>
        <Icon name={severity === "critical" ? "cross" : "warning"} />
        <span>
          <span className="sr-only">{SEVERITY_WORDS[severity]}: </span>
          {title}
        </span>
      </h4>
      <p dir="auto">{evidence}</p>
      <p className={styles.advice} dir="auto">
        {advice}
      </p>
      <Targets runId={runId} advisory={advisory} />
    </li>
  );
}

function Targets({ runId, advisory: { target, kind } }: { runId: string; advisory: Advisory }) {
  const { step, iteration, rollout_id: rollout } = target;
  const params = { runId };
  return (
    <p className={styles.targets}>
      {step != null && (
        <>
          <Link to="/runs/$runId/timeline" params={params} search={{ step }}>
            Step {formatInteger(step)}
          </Link>
          <Link to="/runs/$runId/schedule" params={params} search={{ step }}>
            Its schedule
          </Link>
        </>
      )}
      {rollout != null ? (
        <Link to="/runs/$runId/rollouts" params={params} search={{ rollout }}>
          The rollout
        </Link>
      ) : (
        iteration != null && (
          <Link to="/runs/$runId/rollouts" params={params} search={{ iteration }}>
            Rollouts of iteration {formatInteger(iteration)}
          </Link>
        )
      )}
      {kind === "stall" && (
        <Link to="/runs/$runId/logs" params={params}>
          Newest lines of the logs
        </Link>
      )}
    </p>
  );
}
