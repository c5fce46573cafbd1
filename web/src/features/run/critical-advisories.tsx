/** Over the charts: what is so odd about the run that its state and its curves must not be read without it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { advisoriesOptions } from "@/api/advisories";
import { isOver, type Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { formatInteger } from "@/lib/numbers";
import styles from "./critical-advisories.module.css";

export function CriticalAdvisories({ run }: { run: Run }) {
  // While it goes on, the timeline tells them: a band that comes and goes would move the charts under the reader.
  const { data } = useQuery({ ...advisoriesOptions(run.id), enabled: isOver(run.state) });
  if (!isOver(run.state)) return null;
  const critical = data?.items.filter(({ severity }) => severity === "critical") ?? [];
  // The worst one stands in the banner of a failed run already.
  const untold = critical.slice(run.state === "failed" ? 1 : 0);
  if (untold.length === 0) return null;
  return (
    <Banner kind="warning">
      {untold.map(({ kind, title, evidence, target }) => (
        <span key={`${kind} ${title}`} className={styles.advisory} dir="auto">
          {title}. <small>{evidence}</small>{" "}
          <Link
            to="/runs/$runId/timeline"
            params={{ runId: run.id }}
            search={target.step == null ? {} : { step: target.step }}
          >
            {target.step == null ? "The advisory" : `The advisory, at step ${formatInteger(target.step)}`}
          </Link>
        </span>
      ))}
    </Banner>
  );
}
