/** Up to twenty runs over one another, aligned by any x, with the differences of their specs beside. */
import { useQueries } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { catalogueOptions } from "@/api/history";
import { problemSentence } from "@/api/problem";
import { Banner } from "@/components/banner";
import { Blank } from "@/components/blank";
import { Button, Toggle } from "@/components/button";
import { ButtonLink } from "@/components/button-link";
import type { XRange } from "@/components/chart/chart-group";
import { useZoomKeys } from "@/components/chart/use-zoom-keys";
import { X_OPTIONS } from "@/components/chart/x-axes";
import { EmptyState } from "@/components/empty-state";
import { Key } from "@/components/key";
import { LoadingBars } from "@/components/loading-bars";
import { Page } from "@/components/page";
import { Segmented } from "@/components/segmented";
import { TextField } from "@/components/text-field";
import { formatCount } from "@/lib/numbers";
import { usePageTitle } from "@/lib/use-page-title";
import styles from "./compare.module.css";
import { ComparePanel } from "./compare-panel";
import { type CompareSearch, type CompareSearchPatch, DEFAULT_METRICS } from "./compare-search";
import { RunsPanel } from "./runs-panel";
import { Tables } from "./tables";
import { useCompared } from "./use-compared";

export interface ComparePageProps {
  search: CompareSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: CompareSearchPatch) => void;
}

const LOADING_ROWS = 10;
/** About as high as the charts and the list of runs. */
const BLANK_PX = 380;

export function ComparePage({ search, setSearch }: ComparePageProps) {
  usePageTitle("Compare");
  const ids = search.runs ?? [];
  const isEmpty = ids.length === 0;
  return (
    <Page
      title="Compare"
      note={isEmpty ? null : formatCount(ids.length, "run")}
      actions={
        !isEmpty && (
          <ButtonLink to="/" search={{ sel: ids }} icon="plus">
            Add run
          </ButtonLink>
        )
      }
    >
      {isEmpty ? (
        <Blank minHeight={BLANK_PX}>
          <EmptyState title="Nothing to compare" actions={<ButtonLink to="/">Select runs</ButtonLink>}>
            Tick runs in the list, then choose Compare in the bar that appears under it.
            <span className="wide-only">
              {" "}
              By keyboard: <Key>x</Key> ticks, <Key>c</Key> compares.
            </span>
          </EmptyState>
        </Blank>
      ) : (
        <Comparison ids={ids} search={search} setSearch={setSearch} />
      )}
    </Page>
  );
}

function Comparison({ ids, search, setSearch }: ComparePageProps & { ids: string[] }) {
  const { from, to, hidden = [], metrics = DEFAULT_METRICS } = search;
  const range = useMemo(
    (): XRange | null => (from === undefined || to === undefined ? null : { from, to }),
    [from, to],
  );
  const compared = useCompared(ids, { x: search.x ?? "step", range, isRlOnly: search.rl === true });
  const { runs, group, isLoading, errors } = compared;
  const { log = false, bands = false, smooth: smoothing = 0 } = search;
  const view = useMemo(() => ({ log, bands, old: false, smoothing }), [log, bands, smoothing]);
  const shown = runs.filter(({ id }) => !hidden.includes(id));
  const without = (list: readonly string[], one: string) => list.filter((other) => other !== one);
  const onZoom = (zoom: XRange | null) => setSearch({ from: zoom?.from, to: zoom?.to });
  useZoomKeys(group, onZoom);
  return (
    <>
      {errors.map(({ id, error }) => (
        <Banner
          key={id}
          kind="error"
          actions={<Button onClick={() => setSearch({ runs: without(ids, id) })}>Leave it out</Button>}
        >
          {problemSentence(error)}
        </Banner>
      ))}
      <Toolbar
        search={search}
        setSearch={setSearch}
        ids={ids}
        metrics={metrics}
        offersRlOnly={compared.hasSupervised || search.rl === true}
      />
      {isLoading && runs.length === 0 ? (
        <Blank minHeight={BLANK_PX}>
          <LoadingBars rows={LOADING_ROWS} />
        </Blank>
      ) : (
        <>
          <div className={styles.columns}>
            <RunsPanel
              runs={runs}
              numLoading={isLoading ? ids.length - runs.length - errors.length : 0}
              hidden={hidden}
              group={group}
              onToggle={(id) =>
                setSearch({ hidden: hidden.includes(id) ? without(hidden, id) : [...hidden, id] })
              }
              onToggleAll={() => setSearch({ hidden: hidden.length > 0 ? [] : ids })}
              onRemove={(id) => setSearch({ runs: without(ids, id) })}
            />
            <div className={styles.charts}>
              {metrics.length === 0 && <NoMetric onUsual={() => setSearch({ metrics: undefined })} />}
              {metrics.map((name) => (
                <ComparePanel
                  key={name}
                  name={name}
                  runs={shown}
                  group={group}
                  view={view}
                  onZoom={onZoom}
                  onRemove={() => setSearch({ metrics: without(metrics, name) })}
                />
              ))}
            </div>
          </div>
          <Tables
            runs={shown}
            isRlOnly={search.rl === true}
            showsAll={search.all === true}
            setShowsAll={(all) => setSearch({ all: all || undefined })}
          />
        </>
      )}
    </>
  );
}

function NoMetric({ onUsual }: { onUsual: () => void }) {
  return (
    <div className={styles.noMetric}>
      <Blank minHeight={BLANK_PX}>
        <EmptyState
          title="No metric is drawn"
          actions={<Button onClick={onUsual}>Draw the usual four</Button>}
        >
          Add one by its name, in the field above.
        </EmptyState>
      </Blank>
    </div>
  );
}

interface ToolbarProps extends ComparePageProps {
  ids: readonly string[];
  metrics: readonly string[];
  /** Whether a run has steps that this would leave out. */
  offersRlOnly: boolean;
}

function Toolbar({ search, setSearch, ids, metrics, offersRlOnly }: ToolbarProps) {
  return (
    <div className={styles.bar} role="toolbar" aria-label="How the charts are drawn">
      <span className={styles.label}>x axis</span>
      <Segmented
        label="x axis"
        options={X_OPTIONS}
        value={search.x ?? "step"}
        onChange={(x) => setSearch({ x, from: undefined, to: undefined })}
      />
      <Toggle isOn={search.log === true} onClick={() => setSearch({ log: !search.log })}>
        Log y
      </Toggle>
      <Toggle isOn={search.bands === true} onClick={() => setSearch({ bands: !search.bands })}>
        Bands
      </Toggle>
      {offersRlOnly && (
        <Toggle
          isOn={search.rl === true}
          title="Without the supervised steps that a run begins with"
          onClick={() => setSearch({ rl: !search.rl, from: undefined, to: undefined })}
        >
          RL only
        </Toggle>
      )}
      {search.from !== undefined && (
        <Button variant="ghost" onClick={() => setSearch({ from: undefined, to: undefined })}>
          Show all
        </Button>
      )}
      <MetricAdder ids={ids} metrics={metrics} onAdd={(name) => setSearch({ metrics: [...metrics, name] })} />
    </div>
  );
}

interface MetricAdderProps {
  ids: readonly string[];
  metrics: readonly string[];
  onAdd: (name: string) => void;
}

/** Offers what any of the runs measured and the page does not show. */
function MetricAdder({ ids, metrics, onAdd }: MetricAdderProps) {
  const [text, setText] = useState("");
  const catalogues = useQueries({ queries: ids.map((id) => catalogueOptions(id)) });
  const known = new Set(catalogues.flatMap(({ data }) => data?.items.map(({ name }) => name) ?? []));
  const offered = [...known].filter((name) => !metrics.includes(name)).sort();
  const change = (next: string) => {
    // A name that was picked, or typed to its end.
    if (offered.includes(next)) {
      onAdd(next);
      setText("");
    } else setText(next);
  };
  return (
    <span className={styles.adder}>
      <TextField
        label="Add a metric"
        icon="search"
        placeholder="Add a metric"
        value={text}
        onChange={change}
        list="compare-metrics"
      />
      <datalist id="compare-metrics">
        {offered.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </span>
  );
}
