/** What of the list is shown: text and one group of states. */
import { useRef } from "react";
import { MAX_NAME_CHARACTERS } from "@/api/runs";
import type { RunList } from "@/api/types";
import { Button } from "@/components/button";
import { FilterField } from "@/components/filter-field";
import { StateShape } from "@/components/state-badge";
import { formatInteger } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./runs-filter.module.css";
import type { RunsSearch } from "./runs-search";
import { countAll, countOf, STATE_GROUPS } from "./state-groups";

export interface RunsFilterProps {
  search: RunsSearch;
  setSearch: (search: RunsSearch) => void;
  /** Null while it is not known. */
  counts: RunList["by_state"] | null;
}

export function RunsFilter({ search, setSearch, counts }: RunsFilterProps) {
  const field = useRef<HTMLInputElement>(null);
  useShortcuts({ f: () => field.current?.focus() });
  return (
    <div className={styles.bar}>
      <FilterField
        ref={field}
        label="Filter runs"
        icon="search"
        placeholder="Filter by name"
        className={styles.field}
        maxLength={MAX_NAME_CHARACTERS}
        value={search.q ?? ""}
        onChange={(q) => setSearch({ ...search, q })}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          if (search.q) setSearch({ ...search, q: "" });
          else field.current?.blur();
        }}
      />
      {(search.tags ?? []).map((tag) => (
        <Button
          key={tag}
          icon="cross"
          title={`Not only runs with ${tag}`}
          onClick={() => setSearch({ ...search, tags: search.tags?.filter((one) => one !== tag) ?? [] })}
        >
          <bdi>{tag}</bdi>
        </Button>
      ))}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset brings a legend and a box of its own */}
      <div className={styles.chips} role="group" aria-label="State">
        <Chip isOn={!search.state} onClick={() => setSearch(withoutState(search))}>
          All {counts && <b>{formatInteger(countAll(counts))}</b>}
        </Chip>
        {STATE_GROUPS.map((group) => {
          const count = counts ? countOf(counts, group.states) : 0;
          const isOn = search.state === group.key;
          if (count === 0 && !isOn && !group.isAlwaysShown) return null;
          return (
            <Chip key={group.key} isOn={isOn} onClick={() => setSearch({ ...search, state: group.key })}>
              <StateShape state={group.shape} size={12} />
              {group.word} {counts && <b>{formatInteger(count)}</b>}
            </Chip>
          );
        })}
        <Chip isOn={search.archived === true} onClick={() => setSearch(withArchived(search))}>
          With archived
        </Chip>
      </div>
    </div>
  );
}

function withArchived({ archived, ...rest }: RunsSearch): RunsSearch {
  return archived ? rest : { ...rest, archived: true };
}

function withoutState({ state: _, ...rest }: RunsSearch): RunsSearch {
  return rest;
}

function Chip({
  isOn,
  onClick,
  children,
}: {
  isOn: boolean;
  onClick: () => void;
  children: React.ReactNode;
}) {
  return (
    <button type="button" className={styles.chip} aria-pressed={isOn} onClick={onClick}>
      {children}
    </button>
  );
}
