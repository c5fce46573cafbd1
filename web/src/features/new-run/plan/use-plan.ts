/** Plans the text as it is written: once nothing is typed for a moment, and only where it is YAML. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { planOptions } from "@/api/plan";
import { type FieldProblem, problemSentence } from "@/api/problem";
import type { RunPlan } from "@/api/types";
import { useDebounced } from "@/lib/use-debounced";
import { problemsInText, readSpec, type TextProblem } from "../spec-text";

const TYPING_MS = 350;
/** Fields of the request lie one level deeper than those of the spec. */
const SPEC = "/spec";
/** Beside the spec in the request: where its samples' lengths come from. */
const LENGTHS = "/lengths";

export interface Planned {
  /** The newest plan there is; it may be that of an older text. */
  plan: { plan: RunPlan; tookMs: number } | undefined;
  /** Why there is none of this text, at the lines that say it. */
  problems: readonly TextProblem[];
  /** A failure that is no fault of the text. */
  failure: string | null;
  isOld: boolean;
  /** Problems are those of the text as it stands, not of one that was typed before; or it could not be asked. */
  isAnswered: boolean;
  /** The server has read the text as it stands; false where it could not be asked. */
  isChecked: boolean;
  isEmpty: boolean;
  retry: () => void;
}

interface Answer {
  plan: RunPlan | null;
  tookMs: number;
}

/** What an earlier run measured. */
export interface Measured {
  /** The run whose samples' lengths are taken. */
  runId: string;
  /** The share of its rollouts that its filter left; null: it left none out, or nothing is known of it. */
  keptFrac: number | null;
}

/** `measured` null: lengths are assumed, and the filter leaves everything; undefined: it is not known yet. */
export function usePlan(text: string, measured: Measured | null | undefined): Planned {
  const settled = useDebounced(text, TYPING_MS);
  const read = useMemo(() => readSpec(settled), [settled]);
  const isEmpty = settled.trim() === "";
  const isReadable = !isEmpty && read.problems.length === 0;
  const lengths = measured ? ({ type: "run", run: measured.runId } as const) : null;
  const keptFrac = filters(read.spec) ? (measured?.keptFrac ?? 1) : 1;
  const query = useQuery({
    ...planOptions(read.spec, lengths, keptFrac),
    enabled: isReadable && measured !== undefined,
  });
  const refused = isReadable && query.data && !query.isPlaceholderData ? query.data.fields : [];
  const isRefused = refused.length > 0;
  // Lengths that cannot be had are no fault of the text, which may still be launched.
  const fields = refused.filter(({ pointer }) => !pointer.startsWith(LENGTHS));
  const noLengths = refused.find(({ pointer }) => pointer.startsWith(LENGTHS));
  return {
    plan: useNewestPlan(query.data),
    problems: isEmpty ? [] : isReadable ? problemsInText(read, inSpec(fields)) : read.problems,
    failure: isReadable && query.error ? problemSentence(query.error) : (noLengths?.detail ?? null),
    isOld: settled !== text || query.isPlaceholderData || !isReadable || isRefused || query.error !== null,
    isAnswered: settled === text && !(isReadable && (query.isPending || query.isPlaceholderData)),
    isChecked: settled === text && isReadable && query.data !== undefined && !query.isPlaceholderData,
    // By what stands there now: a text that has just come is about to be planned.
    isEmpty: text.trim() === "",
    retry: () => void query.refetch(),
  };
}

/** Whether the spec's filter leaves rollouts out; one that says nothing of it does. */
function filters(spec: unknown): boolean {
  return valueAt(valueAt(spec, "filter"), "zero_variance") !== "include";
}

function valueAt(tree: unknown, key: string): unknown {
  return typeof tree === "object" && tree !== null ? (tree as Record<string, unknown>)[key] : undefined;
}

/** While a text cannot be planned, the plan of the last one that could stays in view. */
function useNewestPlan(answer: Answer | undefined): Planned["plan"] {
  const [newest, setNewest] = useState<Planned["plan"]>();
  const plan = answer?.plan;
  useEffect(() => {
    if (answer && plan) setNewest({ plan, tookMs: answer.tookMs });
  }, [answer, plan]);
  return answer && plan ? { plan, tookMs: answer.tookMs } : newest;
}

function inSpec(fields: readonly FieldProblem[]): FieldProblem[] {
  return fields.map((field) => ({
    ...field,
    pointer: field.pointer.startsWith(`${SPEC}/`) ? field.pointer.slice(SPEC.length) : field.pointer,
  }));
}
