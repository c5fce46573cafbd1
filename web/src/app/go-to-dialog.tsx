/** Go to a run by its name, or to a step of the run in view by its number. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { MAX_NAME_CHARACTERS, runsOptions } from "@/api/runs";
import type { RunSummary } from "@/api/types";
import { StateShape, stateWord } from "@/components/state-badge";
import { TextField } from "@/components/text-field";
import { formatInteger } from "@/lib/numbers";
import { useDebounced } from "@/lib/use-debounced";
import styles from "./go-to-dialog.module.css";

const MAX_RUNS = 8;

type Target = { kind: "step"; runId: string; step: number } | { kind: "run"; run: RunSummary };

export function GoToDialog({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const targets = useTargets(text.trim());
  const go = useGo(onClose);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);

  const onKeyDown = (event: KeyboardEvent) => {
    const target = targets[chosen];
    if (event.key === "Enter" && target) go(target);
    else if (event.key === "ArrowDown") setChosen((old) => Math.min(old + 1, targets.length - 1));
    else if (event.key === "ArrowUp") setChosen((old) => Math.max(old - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc is the dialog's own
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-label="Go to"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <TextField
        label="Run or step"
        icon="search"
        placeholder="Name of a run, or number of a step"
        className={styles.field}
        maxLength={MAX_NAME_CHARACTERS}
        value={text}
        onChange={(next) => {
          setText(next);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
        role="combobox"
        aria-expanded={targets.length > 0}
        aria-controls={id}
        aria-activedescendant={targets[chosen] ? `${id}-${chosen}` : undefined}
      />
      <TargetList id={id} targets={targets} chosen={chosen} onChoose={go} />
      {targets.length === 0 && text !== "" && <p className={styles.none}>No run matches.</p>}
    </dialog>
  );
}

interface TargetListProps {
  id: string;
  targets: readonly Target[];
  chosen: number;
  onChoose: (target: Target) => void;
}

function TargetList({ id, targets, chosen, onChoose }: TargetListProps) {
  return (
    <div id={id} className={styles.list} role="listbox" aria-label="Found">
      {targets.map((target, i) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys of the list
        // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field
        <div
          key={target.kind === "run" ? target.run.id : target.step}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === chosen}
          className={styles.option}
          onClick={() => onChoose(target)}
        >
          <TargetText target={target} />
        </div>
      ))}
    </div>
  );
}

function TargetText({ target }: { target: Target }) {
  if (target.kind === "step") return <span>Step {formatInteger(target.step)} of this run</span>;
  return (
    <>
      <StateShape state={target.run.state} />
      <bdi className={styles.name}>{target.run.name}</bdi>
      <span className={styles.state}>{stateWord(target.run.state)}</span>
    </>
  );
}

function useTargets(text: string): Target[] {
  const { runId } = useParams({ strict: false });
  const { data } = useInfiniteQuery(runsOptions({ text: useDebounced(text), states: [] }));
  const runs = data?.pages.flatMap((page) => page.items).slice(0, MAX_RUNS) ?? [];
  const found: Target[] = runs.map((run) => ({ kind: "run", run }));
  const step = /^[\d,]+$/.test(text) ? Number(text.replaceAll(",", "")) : Number.NaN;
  return runId && Number.isSafeInteger(step) ? [{ kind: "step", runId, step }, ...found] : found;
}

function useGo(onClose: () => void): (target: Target) => void {
  const navigate = useNavigate();
  return (target) => {
    onClose();
    if (target.kind === "run") navigate({ to: "/runs/$runId", params: { runId: target.run.id } });
    else
      navigate({
        to: "/runs/$runId/schedule",
        params: { runId: target.runId },
        search: { step: target.step },
      });
  };
}
