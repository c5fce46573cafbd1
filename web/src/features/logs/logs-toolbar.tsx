/** What of the log is shown, and the way from hit to hit. */
import { useRef } from "react";
import { Button, IconButton, Toggle } from "@/components/button";
import { FilterField } from "@/components/filter-field";
import { Segmented } from "@/components/segmented";
import { formatInteger } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import type { Hits } from "./log-hits";
import styles from "./logs.module.css";
import { LEVELS, type Level, type LogsSearch, type LogsSearchPatch } from "./logs-search";

const LEVEL_LABELS: Record<Level, string> = {
  debug: "All",
  info: "Info",
  warning: "Warnings",
  error: "Errors",
};

export interface LogsToolbarProps {
  search: LogsSearch;
  setSearch: (patch: LogsSearchPatch) => void;
  sources: readonly string[];
  hits: Hits;
  onHit: (by: 1 | -1) => void;
  /** Whether there is anything to take along. */
  hasLines: boolean;
  onCopy: () => void;
  onDownload: () => void;
}

export function LogsToolbar(props: LogsToolbarProps) {
  const { search, setSearch, sources, hits, onHit, hasLines, onCopy, onDownload } = props;
  return (
    <div className={styles.toolbar}>
      <select
        className={styles.select}
        aria-label="Source"
        value={search.source ?? ""}
        onChange={(event) => setSearch({ source: event.target.value, line: undefined })}
      >
        <option value="">All sources</option>
        {sources.map((source) => (
          <option key={source} value={source}>
            {source}
          </option>
        ))}
      </select>
      <Segmented
        label="Least level"
        options={LEVELS.map((value) => ({ value, label: LEVEL_LABELS[value] }))}
        value={search.level ?? "debug"}
        onChange={(level) => setSearch({ level, line: undefined })}
      />
      <FindLines search={search} setSearch={setSearch} hits={hits} onHit={onHit} />
      <div className={styles.actions}>
        <Button icon="copy" disabled={!hasLines} onClick={onCopy}>
          Copy
        </Button>
        <Button icon="download" disabled={!hasLines} onClick={onDownload}>
          Download
        </Button>
      </div>
    </div>
  );
}

/** The text that is looked for, and the way from one line that holds it to the next. */
function FindLines({
  search,
  setSearch,
  hits,
  onHit,
}: Pick<LogsToolbarProps, "search" | "setSearch" | "hits" | "onHit">) {
  const field = useRef<HTMLInputElement>(null);
  useShortcuts({
    f: () => field.current?.focus(),
    j: () => onHit(1),
    k: () => onHit(-1),
  });
  return (
    <div className={styles.find}>
      <FilterField
        ref={field}
        label="Search the log"
        icon="search"
        placeholder="Search the log"
        className={styles.field}
        value={search.q ?? ""}
        onChange={(q) => setSearch({ q, ...(q === "" && { only: undefined }) })}
        onKeyDown={(event) => {
          if (event.key === "Enter") onHit(event.shiftKey ? -1 : 1);
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <IconButton icon="left" label="Hit before" disabled={hits.ids.length === 0} onClick={() => onHit(-1)} />
      <IconButton icon="right" label="Next hit" disabled={hits.ids.length === 0} onClick={() => onHit(1)} />
      <Toggle
        isOn={search.only === true}
        disabled={!search.q}
        onClick={() => setSearch({ only: !search.only, line: undefined })}
      >
        Only hits
      </Toggle>
      <span className={styles.hits} role="status">
        {search.q ? hitsText(hits, search.line ?? null) : ""}
      </span>
    </div>
  );
}

/** `3 of 17 hits`, `17 hits`, `no hit`. */
export function hitsText({ ids, isCut }: Hits, line: number | null): string {
  if (ids.length === 0) return "no hit";
  const count = `${formatInteger(ids.length)}${isCut ? " and more" : ""} ${ids.length === 1 ? "hit" : "hits"}`;
  const at = line === null ? -1 : ids.indexOf(line);
  return at === -1 ? count : `${formatInteger(at + 1)} of ${count}`;
}
