/** Which rollouts are listed: an iteration or all, a text, a fate with its reason, rewards, length. */
import { useRef, useState } from "react";
import type { IterationBooks, RecordedPart } from "@/api/types";
import { Button, IconButton, Toggle } from "@/components/button";
import { FilterField } from "@/components/filter-field";
import { Segmented } from "@/components/segmented";
import { formatInteger, MISSING } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import { wordsOf } from "@/lib/texts";
import { booksText, recordedText, sumOf } from "./group-facts";
import styles from "./rollouts.module.css";
import type { Fate, RolloutsSearch, RolloutsSearchPatch } from "./rollouts-search";
import type { Scope } from "./use-rollouts";

export interface RolloutsToolbarProps {
  search: RolloutsSearch;
  setSearch: (patch: RolloutsSearchPatch) => void;
  scope: Scope;
  books: IterationBooks | null;
  /** Of the whole run. */
  recorded: RecordedPart | null;
  onIteration: (by: number) => void;
}

export function RolloutsToolbar(props: RolloutsToolbarProps) {
  const { search, setSearch, books, recorded } = props;
  const part = books ?? recorded;
  const told = [books ? booksText(books) : "", part ? recordedText(part) : ""];
  const field = useRef<HTMLInputElement>(null);
  useShortcuts({ f: () => field.current?.focus() });
  return (
    <div className={styles.toolbar}>
      <ScopeControl {...props} />
      <FilterField
        ref={field}
        label="Search prompts and responses"
        icon="search"
        placeholder="Search prompts and responses"
        className={styles.field}
        value={search.q ?? ""}
        onChange={(q) => setSearch({ q, ...UNCHOSEN })}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <div className={styles.filters}>
        <RewardRange search={search} setSearch={setSearch} />
        <Toggle
          isOn={search.truncated === true}
          onClick={() => setSearch({ truncated: !search.truncated, ...UNCHOSEN })}
        >
          Truncated
        </Toggle>
        {/* Behind those of fixed width: its counts come late, and are others in each iteration. */}
        <FateControl search={search} setSearch={setSearch} books={books} />
        <ReasonControl search={search} setSearch={setSearch} books={books} />
      </div>
      <span className={styles.books}>{told.filter((text) => text !== "").join("; ")}</span>
    </div>
  );
}

/** Another list has other groups. */
export const UNCHOSEN: RolloutsSearchPatch = { group: undefined, rollout: undefined, diff: undefined };

function ScopeControl({ search, setSearch, scope, onIteration }: RolloutsToolbarProps) {
  const { iteration, step, newest } = scope;
  if (step !== null) {
    return (
      <span className={styles.scope}>
        <b>Step {formatInteger(step)}</b>
        <IconButton icon="cross" label="Not only this step" onClick={() => setSearch({ step: undefined })} />
      </span>
    );
  }
  const isAll = search.all === true;
  return (
    <span className={styles.scope}>
      <IconButton
        icon="left"
        label="Iteration before"
        disabled={iteration === null || iteration <= 0}
        onClick={() => onIteration(-1)}
      />
      <b>
        {isAll ? "All iterations" : `Iteration ${iteration === null ? MISSING : formatInteger(iteration)}`}
      </b>
      <IconButton
        icon="right"
        label="Next iteration"
        disabled={iteration === null || newest === null || iteration >= newest}
        onClick={() => onIteration(1)}
      />
      <Toggle isOn={isAll} onClick={() => setSearch({ all: !isAll, iteration: undefined, ...UNCHOSEN })}>
        All
      </Toggle>
    </span>
  );
}

interface FilterProps extends Pick<RolloutsToolbarProps, "search" | "setSearch"> {
  books: IterationBooks | null;
}

function FateControl({ search, setSearch, books }: FilterProps) {
  const counts: Record<Fate, number | null> = {
    trained: books?.num_trained ?? null,
    filtered: books ? sumOf(books.filtered) : null,
    dropped: books ? sumOf(books.dropped) : null,
    carried: books?.num_carried_out ?? null,
  };
  const fates: readonly Fate[] = ["trained", "filtered", "dropped", "carried"];
  // Before the books are there, what most iterations have: less moves when they come.
  const isUsual = (fate: Fate) => search.all || search.step || fate === "trained" || fate === "filtered";
  const shown = fates.filter(
    (fate) => fate === search.fate || (counts[fate] === null ? isUsual(fate) : counts[fate] !== 0),
  );
  const label = (fate: Fate) => {
    const count = counts[fate];
    const word = `${fate.charAt(0).toUpperCase()}${fate.slice(1)}`;
    return count === null ? word : `${word} ${formatInteger(count)}`;
  };
  return (
    <Segmented
      label="Fate"
      options={[{ value: "all", label: "All" }, ...shown.map((value) => ({ value, label: label(value) }))]}
      value={search.fate ?? "all"}
      onChange={(value) =>
        setSearch({ fate: value === "all" ? undefined : value, reason: undefined, ...UNCHOSEN })
      }
    />
  );
}

/** The last of the filters: it is there only where there are several reasons, and pushes nothing. */
function ReasonControl({ search, setSearch, books }: FilterProps) {
  const reasons = [...new Set([...Object.keys(books?.filtered ?? {}), ...Object.keys(books?.dropped ?? {})])];
  const hasReasons = search.reason !== undefined || (reasons.length > 1 && search.fate !== "trained");
  if (!hasReasons) return null;
  return (
    <select
      className={styles.select}
      aria-label="Reason"
      value={search.reason ?? ""}
      onChange={(event) => setSearch({ reason: event.target.value, ...UNCHOSEN })}
    >
      <option value="">Any reason</option>
      {[...new Set([...reasons, ...(search.reason ? [search.reason] : [])])].map((reason) => (
        <option key={reason} value={reason}>
          {wordsOf(reason)}
        </option>
      ))}
    </select>
  );
}

function RewardRange({ search, setSearch }: Pick<FilterProps, "search" | "setSearch">) {
  return (
    <span className={styles.range}>
      Reward
      <RewardField
        label="Least reward"
        value={search.reward_min}
        onChange={(reward_min) => setSearch({ reward_min, ...UNCHOSEN })}
      />
      to
      <RewardField
        label="Highest reward"
        value={search.reward_max}
        onChange={(reward_max) => setSearch({ reward_max, ...UNCHOSEN })}
      />
    </span>
  );
}

interface RewardFieldProps {
  label: string;
  value: number | undefined;
  onChange: (value: number | undefined) => void;
}

/** Half a number that is being typed is no filter. */
function RewardField({ label, value, onChange }: RewardFieldProps) {
  const [text, setText] = useState(value === undefined ? "" : String(value));
  const isTold = text.trim() === "" ? value === undefined : Number(text) === value;
  const [isTyping, setIsTyping] = useState(false);
  return (
    <input
      className={styles.number}
      aria-label={label}
      inputMode="decimal"
      placeholder="any"
      value={isTyping || isTold ? text : (value ?? "")}
      onFocus={() => {
        setText(value === undefined ? "" : String(value));
        setIsTyping(true);
      }}
      onBlur={() => setIsTyping(false)}
      onChange={(event) => {
        const next = event.target.value;
        setText(next);
        const number = Number(next.replace("−", "-"));
        if (next.trim() === "") onChange(undefined);
        else if (Number.isFinite(number)) onChange(number);
      }}
    />
  );
}

export function ClearFilter({ setSearch }: Pick<RolloutsToolbarProps, "setSearch">) {
  const clear = {
    q: undefined,
    fate: undefined,
    reason: undefined,
    truncated: undefined,
    reward_min: undefined,
    reward_max: undefined,
  };
  return <Button onClick={() => setSearch(clear)}>Clear filter</Button>;
}
