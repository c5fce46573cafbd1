/** What shall be different: each control begins at what ran, and going back to it asks for nothing. */
import { type Ref, useId } from "react";
import type { Geometry } from "@/api/types";
import { Segmented } from "@/components/segmented";
import { formatInteger } from "@/lib/numbers";
import type { ScheduleSearchPatch } from "../schedule-search";
import { axisChoices, capStops, nearestStop, ranksText } from "./choices";
import styles from "./what-if.module.css";

export interface ControlsProps {
  ran: Geometry;
  /** What ran, with what was asked for. */
  asked: Geometry;
  tp: number;
  setSearch: (patch: ScheduleSearchPatch) => void;
  ref?: Ref<HTMLDivElement>;
}

export function Controls({ ran, asked, tp, setSearch, ref }: ControlsProps) {
  /** What ran is no wish: its key leaves the address. */
  const set = <Key extends keyof Geometry & keyof ScheduleSearchPatch>(key: Key, value: Geometry[Key]) =>
    setSearch({ [key]: value === ran[key] ? undefined : value });
  return (
    <div ref={ref} className={styles.controls}>
      {(["dp", "cp", "pp"] as const).map((axis) => (
        <Control key={axis} label={axis}>
          <Segmented
            label={axis}
            options={axisChoices(ran[axis], asked[axis]).map((size) => option(String(size)))}
            value={String(asked[axis])}
            onChange={(value) => set(axis, Number(value))}
          />
        </Control>
      ))}
      <CutControl ran={ran} asked={asked} setSearch={setSearch} />
      {/* A step that was cut by a count has nothing to pack. */}
      {ran.token_cap !== null && (
        <Control label="packer">
          <Segmented
            label="packer"
            options={PACKERS}
            value={asked.packer}
            onChange={(value) => set("packer", value)}
          />
        </Control>
      )}
      <Control label="balance">
        <Segmented
          label="balance"
          options={[option("cost"), option("tokens"), option("none")]}
          value={asked.balance}
          onChange={(value) => set("balance", value)}
        />
      </Control>
      <Control label="barrier">
        <Segmented
          label="barrier"
          options={[option("step"), option("micro_batch")]}
          value={asked.barrier}
          onChange={(value) => set("barrier", value)}
        />
      </Control>
      <span className={styles.label}>Ranks</span>
      <span>{ranksText(ran, asked, tp)}</span>
    </div>
  );
}

const PACKERS = [
  { value: "first_fit_decreasing", label: "longest first" },
  { value: "first_fit", label: "in order" },
] as const;

function option<Value extends string>(value: Value): { value: Value; label: string } {
  return { value, label: value };
}

function Control({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <>
      <span className={styles.label}>{label}</span>
      <span>{children}</span>
    </>
  );
}

/** Tokens or samples of a micro-batch, as the step was cut. */
function CutControl({ ran, asked, setSearch }: Pick<ControlsProps, "ran" | "asked" | "setSearch">) {
  const id = useId();
  const key = ran.token_cap === null ? "micro_batch_size" : "token_cap";
  const [was, is] = [ran[key] ?? 1, asked[key] ?? ran[key] ?? 1];
  const stops = capStops(was);
  return (
    <>
      <label className={styles.label} htmlFor={id}>
        {key}
      </label>
      <span className={styles.cap}>
        <input
          id={id}
          type="range"
          min={0}
          max={stops.length - 1}
          value={nearestStop(stops, is)}
          aria-valuetext={formatInteger(is)}
          onChange={(event) => {
            const stop = stops[Number(event.target.value)] ?? was;
            setSearch({ [key]: stop === was ? undefined : stop });
          }}
        />
        <output htmlFor={id}>{formatInteger(is)}</output>
      </span>
    </>
  );
}
