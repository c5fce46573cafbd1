/** The text that the page begins with: an example, or the spec of an earlier run with changes. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { cloneNameOptions, runOptions } from "@/api/runs";
import type { Run } from "@/api/types";
import { EXAMPLES } from "@/lib/examples";
import { type LayoutChanges, runText } from "./run-text";
import type { Draft } from "./use-draft";

export interface Beginning {
  example: string | undefined;
  from: string | undefined;
  changes: LayoutChanges;
}

/** Tells one beginning from another. */
export function beginningKey({ example, from, changes }: Beginning): string {
  return JSON.stringify([example, from, changes]);
}

/** Gives the draft its text, once; whoever typed or picked another before it came keeps that. `isLoading`: there is a
 * text to begin with, and it is not there yet. */
export function useBeginning(
  beginning: Beginning,
  { settled, give }: Pick<Draft, "settled" | "give">,
): { parent: Run | null; error: Error | null; isLoading: boolean } {
  const { from, changes } = beginning;
  const parent = useQuery({ ...runOptions(from ?? ""), enabled: from !== undefined });
  const name = useQuery({ ...cloneNameOptions(from ?? ""), enabled: from !== undefined });
  const example = useExample(from === undefined ? beginning.example : undefined);
  const source = from === undefined ? example : parent;
  const isSettled = settled === beginningKey(beginning);
  const found = from === undefined ? example.data : cloneText(parent.data, name.data, changes);
  const latest = useRef(give);
  latest.current = give;
  useEffect(() => {
    if (found && !isSettled) latest.current(found);
  }, [found, isSettled]);
  return {
    parent: (from !== undefined && parent.data) || null,
    error: source.error ?? name.error,
    isLoading: !isSettled && (source.isLoading || name.isLoading || Boolean(found)),
  };
}

/** Undefined until both are there, and of an external run, which has no spec. */
function cloneText(parent: Run | undefined, name: string | undefined, changes: LayoutChanges) {
  return parent?.spec && name !== undefined ? runText(parent.spec, name, changes) : undefined;
}

function useExample(name: string | undefined) {
  const known = EXAMPLES.find((example) => example.name === name);
  return useQuery({
    queryKey: ["example", known?.name],
    queryFn: () => known?.load() ?? "",
    enabled: known !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
}
