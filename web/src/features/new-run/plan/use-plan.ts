/** Plans the text as it is written: once nothing is typed for a moment, and only where it is YAML. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { planOptions } from "@/api/plan";
import { ApiProblem, problemSentence } from "@/api/problem";
import type { RunPlan } from "@/api/types";
import { useDebounced } from "@/lib/use-debounced";
import { problemsInText, readSpec, type TextProblem } from "../spec-text";

const TYPING_MS = 350;
/** Fields of the request lie one level deeper than those of the spec. */
const SPEC = "/spec";

export interface Planned {
  /** The newest plan there is; it may be that of an older text. */
  plan: { plan: RunPlan; tookMs: number } | undefined;
  /** Why there is none of this text, at the lines that say it. */
  problems: readonly TextProblem[];
  /** A failure that is no fault of the text. */
  failure: string | null;
  isOld: boolean;
  isEmpty: boolean;
  retry: () => void;
}

/** `parentId`: a run whose samples' lengths are taken; null: lengths are assumed. */
export function usePlan(text: string, parentId: string | null): Planned {
  const settled = useDebounced(text, TYPING_MS);
  const read = useMemo(() => readSpec(settled), [settled]);
  const isEmpty = settled.trim() === "";
  const isReadable = !isEmpty && read.problems.length === 0;
  const lengths = parentId === null ? null : ({ type: "run", run: parentId } as const);
  const query = useQuery({ ...planOptions(read.spec, lengths), enabled: isReadable });
  const fields = query.error instanceof ApiProblem ? query.error.fields : [];
  const refused = isReadable && query.error !== null;
  return {
    plan: query.data,
    problems: isEmpty
      ? []
      : isReadable
        ? refused
          ? problemsInText(read, inSpec(fields))
          : []
        : read.problems,
    failure: refused && fields.length === 0 ? problemSentence(query.error) : null,
    isOld: settled !== text || query.isPlaceholderData || !isReadable || refused,
    isEmpty,
    retry: () => void query.refetch(),
  };
}

function inSpec(fields: ApiProblem["fields"]): ApiProblem["fields"] {
  return fields.map((field) => ({
    ...field,
    pointer: field.pointer.startsWith(`${SPEC}/`) ? field.pointer.slice(SPEC.length) : field.pointer,
  }));
}
