/** The text that the page begins with: an example, or the spec of an earlier run with changes. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { runOptions } from "@/api/runs";
import type { Run } from "@/api/types";
import { EXAMPLES } from "@/lib/examples";
import { type LayoutChanges, runText } from "./run-text";

export interface Beginning {
  example: string | undefined;
  from: string | undefined;
  changes: LayoutChanges;
}

/** `isLoading`: there is a text to begin with, and it is not there yet. */
export function useBeginning(
  { example, from, changes }: Beginning,
  setText: (text: string) => void,
): { parent: Run | null; error: Error | null; isLoading: boolean } {
  const { data: parent, error } = useQuery({ ...runOptions(from ?? ""), enabled: from !== undefined });
  const latest = useRef(setText);
  latest.current = setText;
  const failure = useExample(example, latest);
  // A run that goes on is told of again and again; its spec never changes, and what was typed must stay.
  const spec = parent && JSON.stringify(parent.spec);
  const wanted = JSON.stringify(changes);
  useEffect(() => {
    if (spec) latest.current(runText(JSON.parse(spec), JSON.parse(wanted)));
  }, [spec, wanted]);
  const isLoading = from === undefined ? failure === "loading" : !parent && !error;
  return {
    parent: from === undefined ? null : (parent ?? null),
    error: error ?? (failure instanceof Error ? failure : null),
    isLoading,
  };
}

/** Null: it is there, or none is asked for. */
function useExample(
  name: string | undefined,
  setText: { current: (text: string) => void },
): "loading" | Error | null {
  const known = EXAMPLES.find((example) => example.name === name);
  const [state, setState] = useState<{ of: string; error: Error | null } | null>(null);
  useEffect(() => {
    let isWanted = true;
    const tell = (error: Error | null) => known && isWanted && setState({ of: known.name, error });
    known?.load().then(
      (text) => {
        if (isWanted) setText.current(text);
        tell(null);
      },
      (error: Error) => tell(error),
    );
    return () => {
      isWanted = false;
    };
  }, [known, setText]);
  if (!known) return null;
  return state?.of === known.name ? state.error : "loading";
}
