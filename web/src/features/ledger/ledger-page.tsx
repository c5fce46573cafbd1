/** What became of every rollout: books that balance, as a picture and iteration by iteration. */
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { ledgerOptions } from "@/api/ledger";
import { problemSentence } from "@/api/problem";
import { runOptions } from "@/api/runs";
import { isOver, type Ledger, type Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { Button } from "@/components/button";
import { EmptyState } from "@/components/empty-state";
import { Icon } from "@/components/icon";
import { LoadingBars } from "@/components/loading-bars";
import { Panel } from "@/components/panel";
import { ProblemPanel } from "@/components/problem-panel";
import { formatCount, formatInteger, formatRange } from "@/lib/numbers";
import { type Books, booksOf } from "./accounts";
import { findingOf } from "./finding";
import { FlowPicture } from "./flow-picture";
import styles from "./ledger.module.css";
import type { LedgerSearch } from "./ledger-search";
import { LedgerTable } from "./ledger-table";

const RETRY_S = 5;
/** As high as the finding and the picture; on narrow screens the finding has more lines. */
const LOADING_ROWS = 6;
const LOADING_ROW_PX = 38;
/** With the one of the heads. */
const TABLE_ROWS = 21;
const TABLE_ROW_PX = 31;
/** More say no more; the table marks all of them. */
const TOLD_PROBLEMS = 3;

export interface LedgerPageProps {
  runId: string;
  search: LedgerSearch;
  setSearch: (search: { [K in keyof LedgerSearch]?: LedgerSearch[K] | undefined }) => void;
}

export function LedgerPage({ runId, search, setSearch }: LedgerPageProps) {
  const { data: run } = useQuery(runOptions(runId));
  const { data: ledger, error, refetch } = useQuery(ledgerOptions(runId, search));
  const books = ledger?.total ? booksOf(ledger.total) : null;
  // Without any books there is nothing to choose from.
  const hasRange = !ledger || books !== null || search.from !== undefined || search.to !== undefined;
  return (
    <>
      {ledger && !ledger.balanced && <Unbalanced ledger={ledger} />}
      <Panel
        title="Rollouts, in and out"
        note={ledger?.total && rangeNote(ledger.total)}
        aside={hasRange && <Range search={search} setSearch={setSearch} />}
      >
        {!ledger && !error && (
          <div className={styles.waiting}>
            <LoadingBars rows={LOADING_ROWS} rowHeight={LOADING_ROW_PX} onRetry={refetch} />
          </div>
        )}
        {!ledger && error && (
          <ProblemPanel
            title="The books did not load"
            detail={problemSentence(error)}
            onRetry={refetch}
            retryAfterS={RETRY_S}
          />
        )}
        {ledger && books && (
          <>
            <Finding books={books} isBalanced={ledger.balanced} />
            <FlowPicture runId={runId} books={books} />
          </>
        )}
        {ledger && !books && <NoBooks run={run} search={search} onClear={() => setSearch({})} />}
      </Panel>
      {!ledger && !error && expectsBooks(run) && (
        <Panel title="By iteration">
          <LoadingBars rows={TABLE_ROWS} rowHeight={TABLE_ROW_PX} hasWords={false} />
        </Panel>
      )}
      {ledger?.total && <LedgerTable runId={runId} ledger={ledger} total={ledger.total} />}
    </>
  );
}

/** Other frameworks seldom tell of their rollouts, and before the first step is trained there are none. */
function expectsBooks(run: Run | undefined): boolean {
  return run?.kind === "managed" && run.num_steps > 0;
}

function rangeNote({
  first_iteration,
  last_iteration,
  num_iterations,
}: NonNullable<Ledger["total"]>): string {
  return num_iterations === 1
    ? `iteration ${formatInteger(first_iteration)}`
    : `iterations ${formatRange(first_iteration, last_iteration)}`;
}

function Unbalanced({ ledger }: { ledger: Ledger }) {
  const [first] = ledger.problems;
  return (
    <Banner
      kind="error"
      detail={
        <>
          {ledger.problems.slice(0, TOLD_PROBLEMS).map(({ iteration, detail }) => (
            <span key={`${iteration} ${detail}`} className={styles.problem}>
              <bdi>{detail}</bdi>
            </span>
          ))}
          {ledger.num_problems > TOLD_PROBLEMS && (
            <span className={styles.problem}>
              and {formatInteger(ledger.num_problems - TOLD_PROBLEMS)} more: they are marked in the table.
            </span>
          )}
        </>
      }
    >
      The books do not balance in {formatCount(ledger.num_problems, "place")}
      {first && `, the first in iteration ${formatInteger(first.iteration)}`}. Counts of these iterations
      cannot be trusted.
    </Banner>
  );
}

function Finding({ books, isBalanced }: { books: Books; isBalanced: boolean }) {
  return (
    <p className={styles.finding}>
      {findingOf(books)}{" "}
      {isBalanced && (
        <span className={styles.balanced}>
          <Icon name="tick" />
          {formatCount(books.numIn, "rollout")} in, {formatInteger(books.numOut)} out
        </span>
      )}
    </p>
  );
}

interface NoBooksProps {
  run: Run | undefined;
  search: LedgerSearch;
  onClear: () => void;
}

function NoBooks({ run, search, onClear }: NoBooksProps) {
  if (search.from !== undefined || search.to !== undefined) {
    return (
      <EmptyState
        title="No iteration in this range"
        actions={<Button onClick={onClear}>Show the whole run</Button>}
      >
        No recorded iteration trained a step from {formatInteger(search.from ?? 0)}
        {search.to !== undefined && ` to ${formatInteger(search.to - 1)}`}.
      </EmptyState>
    );
  }
  if (run?.kind === "external") {
    return (
      <EmptyState title="No books">
        The framework that reports this run told nothing of its rollouts.
      </EmptyState>
    );
  }
  return (
    <EmptyState title={run && isOver(run.state) ? "No books were recorded" : "No books yet"}>
      The books of an iteration are recorded once it has trained its last step.
    </EmptyState>
  );
}

function Range({ search, setSearch }: Pick<LedgerPageProps, "search" | "setSearch">) {
  return (
    <span className={styles.range}>
      <StepField label="Steps from" value={search.from} onChange={(from) => setSearch({ ...search, from })} />
      <StepField
        label="to"
        value={search.to === undefined ? undefined : search.to - 1}
        onChange={(last) => setSearch({ ...search, to: last === undefined ? undefined : last + 1 })}
      />
      {(search.from !== undefined || search.to !== undefined) && (
        <Button onClick={() => setSearch({})}>Whole run</Button>
      )}
    </span>
  );
}

interface StepFieldProps {
  label: string;
  value: number | undefined;
  onChange: (step: number | undefined) => void;
}

/** Takes effect when it is left or Enter is pressed: half a number is no range. */
function StepField({ label, value, onChange }: StepFieldProps) {
  const id = useId();
  const take = (text: string) => {
    const step = Number.parseInt(text, 10);
    const next = Number.isSafeInteger(step) && step >= 0 ? step : undefined;
    if (next !== value) onChange(next);
  };
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <input
        key={value}
        id={id}
        className={styles.field}
        inputMode="numeric"
        placeholder={label === "to" ? "last" : "0"}
        defaultValue={value}
        onBlur={(event) => take(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && take(event.currentTarget.value)}
      />
    </>
  );
}
