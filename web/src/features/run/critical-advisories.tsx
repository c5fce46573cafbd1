/** Over the charts: what is so odd about the run that its state and its curves must not be read without it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { advisoriesOptions } from "@/api/advisories";
import { isOver, type Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { formatInteger } from "@/lib/numbers";
import styles from "./critical-advisories.module.css";

const REFRESH_MS = 30_000;

export function CriticalAdvisories({ run }: { run: Run }) {
  const { data } = useQuery({
    ...advisoriesOptions(run.id),
    refetchInterval: isOver(run.state) ? false : REFRESH_MS,
  });
  const critical = data?.items.filter(({ severity }) => severity === "critical") ?? [];
  // The worst one stands in the banner of a failed run already.
  return critical.slice(run.state === "failed" ? 1 : 0).map(({ kind, title, evidence, target }) => (
    <Banner
      key={`${kind} ${title}`}
      kind="warning"
      detail={
        <span className={styles.evidence} dir="auto">
          {evidence}{" "}
          <Link
            to="/runs/$runId/timeline"
            params={{ runId: run.id }}
            search={target.step == null ? {} : { step: target.step }}
          >
            {target.step == null ? "The advisory" : `The advisory, at step ${formatInteger(target.step)}`}
          </Link>
        </span>
      }
    >
      <bdi>{title}</bdi>
    </Banner>
  ));
}
