/** The spec of a run, field by field, and beside it what another run had. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useId, useMemo, useRef } from "react";
import { problemSentence } from "@/api/problem";
import { runOptions, runsOptions } from "@/api/runs";
import type { Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { Blank } from "@/components/blank";
import { Button, Toggle } from "@/components/button";
import { DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { FilterField } from "@/components/filter-field";
import { LoadingBars } from "@/components/loading-bars";
import { Panel } from "@/components/panel";
import { formatCount, MISSING } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./config.module.css";
import { type ConfigBlock, configBlocks, numDifferent, onlyDifferent } from "./config-blocks";
import type { ConfigSearch, ConfigSearchPatch } from "./config-search";

const BLANK_PX = 240;
const LOADING_ROWS = 12;

export interface ConfigPageProps {
  runId: string;
  search: ConfigSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: ConfigSearchPatch) => void;
}

export function ConfigPage({ runId, search, setSearch }: ConfigPageProps) {
  const { data: run } = useQuery(runOptions(runId));
  const { data: against, error } = useQuery({
    ...runOptions(search.against ?? ""),
    enabled: search.against !== undefined,
  });
  const other = search.against === undefined ? undefined : against;
  const all = useMemo(
    () => (run ? configBlocks(configOf(run), other && configOf(other), search.q ?? "") : []),
    [run, other, search.q],
  );
  const blocks = other && search.only ? onlyDifferent(all) : all;
  if (!run) {
    return (
      <Blank minHeight={BLANK_PX}>
        <LoadingBars rows={LOADING_ROWS} />
      </Blank>
    );
  }
  return (
    <>
      <Head runId={runId} search={search} setSearch={setSearch} note={other ? noteOf(all) : ""} />
      {error && search.against !== undefined && <Banner kind="error">{problemSentence(error)}</Banner>}
      {blocks.length === 0 ? (
        <Blank minHeight={BLANK_PX}>
          <Nothing search={search} setSearch={setSearch} />
        </Blank>
      ) : (
        <div className={styles.blocks}>
          {blocks.map((block) => (
            <Block key={block.name} block={block} otherName={other?.name ?? null} />
          ))}
        </div>
      )}
    </>
  );
}

/** What the writer of an external run told stands in the place of a spec. */
function configOf(run: Run): unknown {
  return run.spec ?? run.config;
}

function Nothing({ search, setSearch }: Pick<ConfigPageProps, "search" | "setSearch">) {
  if (search.q === undefined && !search.only) {
    return <EmptyState title="No config">The framework that reports this run has told none.</EmptyState>;
  }
  if (search.q === undefined) {
    return (
      <EmptyState
        title="No field differs"
        actions={<Button onClick={() => setSearch({ only: undefined })}>Show all</Button>}
      >
        Both runs have the same spec.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="No field matches"
      actions={<Button onClick={() => setSearch({ q: undefined })}>Clear filter</Button>}
    >
      Neither name nor value contains “<bdi>{search.q}</bdi>”.
    </EmptyState>
  );
}

function noteOf(blocks: readonly ConfigBlock[]): string {
  const count = numDifferent(blocks);
  return count === 0 ? "No field differs" : `${formatCount(count, "field")} differ${count === 1 ? "s" : ""}`;
}

function Head({ runId, search, setSearch, note }: ConfigPageProps & { note: string }) {
  const field = useRef<HTMLInputElement>(null);
  useShortcuts({ f: () => field.current?.focus() });
  return (
    <div className={styles.head}>
      <Against runId={runId} search={search} setSearch={setSearch} />
      <span className={styles.note} role="status">
        {note}
      </span>
      <FilterField
        ref={field}
        label="Find a field"
        icon="search"
        placeholder="Find a field"
        value={search.q ?? ""}
        onChange={(q) => setSearch({ q })}
      />
    </div>
  );
}

/** The newest runs to choose from; one that is named in the address stays chosen. */
function Against({ runId, search, setSearch }: ConfigPageProps) {
  const id = useId();
  const { data } = useInfiniteQuery(runsOptions({ text: "", states: [] }));
  const others = (data?.pages.flatMap((page) => page.items) ?? []).filter((run) => run.id !== runId);
  const isListed = others.some((run) => run.id === search.against);
  return (
    <span className={styles.against}>
      <label htmlFor={id}>Compare with</label>
      <select
        id={id}
        value={search.against ?? ""}
        onChange={(event) => setSearch({ against: event.target.value || undefined })}
      >
        <option value="">no other run</option>
        {search.against !== undefined && !isListed && (
          <option value={search.against}>{search.against}</option>
        )}
        {others.map((run) => (
          <option key={run.id} value={run.id}>
            {run.name} ({run.id.slice(-6)})
          </option>
        ))}
      </select>
      {search.against !== undefined && (
        <Toggle isOn={search.only === true} onClick={() => setSearch({ only: !search.only })}>
          Differences only
        </Toggle>
      )}
    </span>
  );
}

function Block({ block, otherName }: { block: ConfigBlock; otherName: string | null }) {
  return (
    <Panel title={block.name || "run"} className={styles.block}>
      <DataTable className={styles.fields}>
        <thead className={otherName === null ? "sr-only" : undefined}>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">This run</th>
            {otherName !== null && (
              <th scope="col">
                <bdi>{otherName}</bdi>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {block.fields.map(({ name, is, was, differs }) => (
            <tr key={name} data-differs={differs || undefined}>
              <th scope="row">{name}</th>
              <td data-missing={is === "" || undefined}>
                <bdi>{is || MISSING}</bdi>
              </td>
              {was !== null && (
                <td>
                  <bdi>{was || MISSING}</bdi>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </DataTable>
    </Panel>
  );
}
