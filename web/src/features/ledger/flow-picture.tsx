/** The books as a picture: what came in on the left, what became of it on the right, to scale. */
import { Link } from "@tanstack/react-router";
import { formatCount, formatInteger, formatPercent } from "@/lib/numbers";
import { type Account, type Books, keyOf } from "./accounts";
import { type Band, bandPath, flowLayout } from "./flow-layout";
import styles from "./flow-picture.module.css";
import { rolloutsSearch } from "./rollouts-link";

const WIDTH = 100;

export function FlowPicture({ runId, books }: { runId: string; books: Books }) {
  const { ins, outs, height, bar } = flowLayout(books);
  return (
    <div className={styles.flow} style={{ height }}>
      <Labels runId={runId} bands={ins} total={books.numIn} className={styles.left} />
      <svg
        className={styles.bands}
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={sentence(books)}
      >
        {ins.map((band) => (
          <path
            key={keyOf(band.account)}
            className={styles[band.account.kind]}
            d={bandPath(band, { top: band.barTop, height: band.barHeight }, WIDTH)}
          />
        ))}
      </svg>
      <i className={styles.bar} style={{ top: bar.top, height: bar.height }} aria-hidden="true" />
      <svg
        className={styles.bands}
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {outs.map((band) => (
          <path
            key={keyOf(band.account)}
            className={styles[band.account.kind]}
            d={bandPath({ top: band.barTop, height: band.barHeight }, band, WIDTH)}
          />
        ))}
      </svg>
      <Labels runId={runId} bands={outs} total={books.numOut} className={styles.right} />
    </div>
  );
}

interface LabelsProps {
  runId: string;
  bands: readonly Band[];
  total: number;
  className: string | undefined;
}

function Labels({ runId, bands, total, className }: LabelsProps) {
  return (
    <ul className={className}>
      {bands.map(({ account, top, height }) => (
        <li key={keyOf(account)} style={{ top: top + height / 2 }}>
          <Label runId={runId} account={account} />
          <span>
            <b>{formatInteger(account.count)}</b> {formatPercent(account.count / total)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Label({ runId, account }: { runId: string; account: Account }) {
  const search = rolloutsSearch(account);
  if (!search) return <span>{account.label}</span>;
  return (
    <Link
      to="/runs/$runId/rollouts"
      params={{ runId }}
      search={{ ...search, all: true }}
      title={account.label}
    >
      <bdi>{account.label}</bdi>
    </Link>
  );
}

function sentence({ ins, outs, numIn }: Books): string {
  const told = (accounts: readonly Account[]) =>
    accounts
      .filter(({ count }) => count > 0)
      .map(({ label, count }) => `${label} ${formatInteger(count)}`)
      .join(", ");
  return `${formatCount(numIn, "rollout")}. In: ${told(ins)}. Out: ${told(outs)}.`;
}
