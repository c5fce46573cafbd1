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
  /** Key of a target, also when others come before it; null: the first one. */
  const [chosenKey, setChosenKey] = useState<string | null>(null);
  const { targets, isFound } = useTargets(text.trim());
  const chosen = Math.max(
    0,
    targets.findIndex((target) => keyOf(target) === chosenKey),
  );
  const choose = (at: number) => {
    const target = targets[Math.min(Math.max(at, 0), targets.length - 1)];
    if (target) setChosenKey(keyOf(target));
  };
  const go = useGo(onClose);
  const goWhenFound = useWhenFound(isFound, () => targets[chosen] && go(targets[chosen]));
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") goWhenFound();
    else if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
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
          setChosenKey(null);
        }}
        onKeyDown={onKeyDown}
        role="combobox"
        aria-expanded={targets.length > 0}
        aria-controls={id}
        aria-activedescendant={targets[chosen] ? `${id}-${chosen}` : undefined}
      />
      <TargetList id={id} targets={targets} chosen={chosen} onChoose={go} />
      {targets.length === 0 && text !== "" && isFound && <p className={styles.none}>No run matches.</p>}
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
          key={keyOf(target)}
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

function keyOf(target: Target): string {
  return target.kind === "run" ? target.run.id : `step ${target.step}`;
}

/** Does it once what stands in the list was found for the text as it is: Enter may be faster than the answer. */
function useWhenFound(isFound: boolean, act: () => void): () => void {
  const [isAsked, setIsAsked] = useState(false);
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  useEffect(() => {
    if (!isAsked || !isFound) return;
    setIsAsked(false);
    latest.current();
  }, [isAsked, isFound]);
  return () => setIsAsked(true);
}

/** `isFound`: they are those of this text, and not of one that was typed before. */
function useTargets(text: string): { targets: Target[]; isFound: boolean } {
  const { runId } = useParams({ strict: false });
  const settled = useDebounced(text);
  const { data, isPending, isPlaceholderData } = useInfiniteQuery({
    ...runsOptions({ text: settled, states: [] }),
    placeholderData: (old) => old,
  });
  const runs = data?.pages.flatMap((page) => page.items).slice(0, MAX_RUNS) ?? [];
  const found: Target[] = runs.map((run) => ({ kind: "run", run }));
  const step = /^[\d,]+$/.test(text) ? Number(text.replaceAll(",", "")) : Number.NaN;
  const isStep = runId !== undefined && Number.isSafeInteger(step);
  return {
    targets: isStep ? [{ kind: "step", runId, step }, ...found] : found,
    isFound: isStep || (settled === text && !isPending && !isPlaceholderData),
  };
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
