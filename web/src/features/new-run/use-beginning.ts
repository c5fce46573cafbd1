/** The text that the page begins with: an example, or the spec of an earlier run with changes. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { runOptions } from "@/api/runs";
import type { Run } from "@/api/types";
import { EXAMPLES } from "@/lib/examples";
import { type LayoutChanges, runText } from "./run-text";

export interface Beginning {
  example: string | undefined;
  from: string | undefined;
  changes: LayoutChanges;
}

export function useBeginning(
  { example, from, changes }: Beginning,
  setText: (text: string) => void,
): { parent: Run | null; error: Error | null } {
  const { data: parent, error } = useQuery({ ...runOptions(from ?? ""), enabled: from !== undefined });
  const latest = useRef(setText);
  latest.current = setText;
  useEffect(() => {
    const known = EXAMPLES.find(({ name }) => name === example);
    let isWanted = true;
    known?.load().then((text) => isWanted && latest.current(text));
    return () => {
      isWanted = false;
    };
  }, [example]);
  // A run that goes on is told of again and again; its spec never changes, and what was typed must stay.
  const spec = parent && JSON.stringify(parent.spec);
  const wanted = JSON.stringify(changes);
  useEffect(() => {
    if (spec) latest.current(runText(JSON.parse(spec), JSON.parse(wanted)));
  }, [spec, wanted]);
  return { parent: from === undefined ? null : (parent ?? null), error };
}
