/** What happened to the run: changes of its state, and what its driver found worth telling. */
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { eventsOptions } from "@/api/events";
import { problemSentence } from "@/api/problem";
import type { RunEvent } from "@/api/types";
import { Button, Toggle } from "@/components/button";
import { DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { FilterField } from "@/components/filter-field";
import { FoldedText } from "@/components/folded-text";
import { ForeignText } from "@/components/foreign-text";
import { LoadingBars } from "@/components/loading-bars";
import { Moment } from "@/components/moment";
import { Panel } from "@/components/panel";
import { ProblemPanel } from "@/components/problem-panel";
import { failureText } from "@/lib/failure-text";
import { formatCount, formatInteger } from "@/lib/numbers";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./events.module.css";
import type { EventsSearch } from "./events-search";

const RETRY_S = 5;
const LOADING_ROWS = 8;

export interface EventsPageProps {
  runId: string;
  search: EventsSearch;
  setSearch: (search: EventsSearch) => void;
}

export function EventsPage({ runId, search, setSearch }: EventsPageProps) {
  // The stream tells when there are new ones, and they are asked for again.
  const { data, error, refetch } = useQuery(eventsOptions(runId));
  const found = findEvents(data?.items ?? [], search.q ?? "");
  const shown = search.oldest ? found : [...found].reverse();
  return (
    <Panel
      title="Events"
      note={data ? noteOf(found.length, data.items.length, data.isWhole) : ""}
      aside={<Tools search={search} setSearch={setSearch} />}
    >
      {!data && !error && <LoadingBars rows={LOADING_ROWS} hasHead onRetry={refetch} />}
      {!data && error && (
        <ProblemPanel
          title="The events did not load"
          detail={problemSentence(error)}
          onRetry={refetch}
          retryAfterS={RETRY_S}
        />
      )}
      {data && shown.length > 0 && <EventTable events={shown} />}
      {data && shown.length === 0 && (
        <EmptyState
          title={search.q ? "No event matches" : "No events yet"}
          actions={search.q && <Button onClick={() => setSearch({ ...search, q: "" })}>Clear filter</Button>}
        >
          {search.q ? (
            <>
              Neither kind nor message contains “<bdi>{search.q}</bdi>”. This filter hides{" "}
              {formatCount(data.items.length, "event")}.
            </>
          ) : (
            "The first one is recorded when the run is made."
          )}
        </EmptyState>
      )}
    </Panel>
  );
}

/** Events whose kind or message contain every word of the query. */
export function findEvents(events: readonly RunEvent[], query: string): RunEvent[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return events.filter(({ kind, message }) => {
    const text = `${kind} ${message}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function noteOf(numFound: number, numAll: number, isWhole: boolean): string {
  const all = isWhole ? formatCount(numAll, "event") : `the first ${formatCount(numAll, "event")}`;
  return numFound === numAll ? all : `${formatInteger(numFound)} of ${all}`;
}

function Tools({ search, setSearch }: Pick<EventsPageProps, "search" | "setSearch">) {
  const field = useRef<HTMLInputElement>(null);
  useShortcuts({ f: () => field.current?.focus() });
  return (
    <>
      <Toggle isOn={search.oldest === true} onClick={() => setSearch({ ...search, oldest: !search.oldest })}>
        Oldest first
      </Toggle>
      <FilterField
        ref={field}
        className={styles.find}
        label="Find an event"
        icon="search"
        placeholder="Find an event"
        value={search.q ?? ""}
        onChange={(q) => setSearch({ ...search, q })}
      />
    </>
  );
}

const COLUMNS = ["Time", "Attempt", "Kind", "Message"].map((label) => ({
  label,
  isNumber: label === "Attempt",
}));

function EventTable({ events }: { events: readonly RunEvent[] }) {
  return (
    <DataTable columns={COLUMNS} className={styles.table}>
      <tbody>
        {events.map((event) => (
          <tr key={event.id}>
            <td className={styles.time}>
              <Moment at={event.at} />
            </td>
            <td className={styles.attempt} data-number data-missing={event.attempt === null || undefined}>
              {formatInteger(event.attempt)}
            </td>
            <th scope="row" className={styles.kind}>
              <bdi>{event.kind}</bdi>
            </th>
            <td>
              <Message text={event.message} />
              {Object.keys(event.data).length > 0 && (
                <FoldedText
                  label="Data"
                  text={JSON.stringify(event.data, null, 2)}
                  className={styles.folded}
                />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

/** What happened stays in sight; where in the code, folded, does not push the other events away. */
function Message({ text }: { text: string }) {
  const { said, output } = failureText(text);
  if (!output?.isTraceback) return <ForeignText text={text} />;
  return (
    <>
      <ForeignText text={said} />
      <FoldedText label={output.title} text={output.text} className={styles.folded} />
    </>
  );
}
