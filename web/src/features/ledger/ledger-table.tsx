/** The books iteration by iteration, the newest first, in the columns of the picture. */
import { Link } from "@tanstack/react-router";
import type { Ledger, LedgerEntry } from "@/api/types";
import { DataTable, NumberCell, RowHead } from "@/components/data-table";
import { Panel } from "@/components/panel";
import { ScrollRegion } from "@/components/scroll-region";
import { formatCount, formatInteger, formatRange, MISSING } from "@/lib/numbers";
import { type Account, booksOf, keyOf } from "./accounts";
import styles from "./ledger.module.css";
import { rolloutsSearch } from "./rollouts-link";

interface LedgerTableProps {
  runId: string;
  ledger: Ledger;
  total: LedgerEntry;
}

export function LedgerTable({ runId, ledger, total }: LedgerTableProps) {
  const { ins, outs } = booksOf(total);
  const columns = [
    { label: "Iteration", isNumber: true },
    { label: "First step", isNumber: true },
    ...[...ins, ...outs].map(({ label }) => ({ label: <bdi>{label}</bdi>, isNumber: true })),
  ];
  const isPutTogether = ledger.flows.some(({ num_iterations }) => num_iterations > 1);
  return (
    <Panel
      title="By iteration"
      note={isPutTogether ? "iterations put together; choose a range to see each" : ""}
    >
      <ScrollRegion label="By iteration, table">
        <DataTable columns={columns} className={styles.table}>
          <tbody>
            {[...ledger.flows].reverse().map((entry) => (
              <Row key={entry.first_iteration} runId={runId} entry={entry} total={total} ledger={ledger} />
            ))}
          </tbody>
        </DataTable>
      </ScrollRegion>
    </Panel>
  );
}

function Row({ runId, entry, total, ledger }: LedgerTableProps & { entry: LedgerEntry }) {
  const { ins, outs } = booksOf(entry, total);
  const problems = ledger.problems.filter(
    ({ iteration }) => iteration >= entry.first_iteration && iteration <= entry.last_iteration,
  );
  return (
    <tr data-unbalanced={problems.length > 0 || undefined} title={problems[0]?.detail}>
      <RowHead data-number>
        {formatRange(entry.first_iteration, entry.last_iteration)}
        {problems.length > 0 && <span className="sr-only">, does not balance</span>}
      </RowHead>
      <NumberCell>
        {entry.first_step === null ? MISSING : <StepLink runId={runId} step={entry.first_step} />}
      </NumberCell>
      {[...ins, ...outs].map((account) => (
        <NumberCell key={keyOf(account)}>
          <Count runId={runId} account={account} entry={entry} />
        </NumberCell>
      ))}
    </tr>
  );
}

function StepLink({ runId, step }: { runId: string; step: number }) {
  return (
    <Link to="/runs/$runId/schedule" params={{ runId }} search={{ step }}>
      {formatInteger(step)}
    </Link>
  );
}

/** The rollouts behind a count; of iterations that are put together there is no such list. */
function Count({ runId, account, entry }: { runId: string; account: Account; entry: LedgerEntry }) {
  const search = rolloutsSearch(account);
  if (!search || entry.num_iterations > 1) return formatInteger(account.count);
  return (
    <Link
      to="/runs/$runId/rollouts"
      params={{ runId }}
      search={{ iteration: entry.first_iteration, ...search }}
      aria-label={`${account.label}: ${formatCount(account.count, "rollout")}`}
    >
      {formatInteger(account.count)}
    </Link>
  );
}
