/** The text of the new run: what the user types, and what the editor is given in its place. */
import { useCallback, useRef, useState } from "react";

/** A document for the editor; another object is another document, also with the same text. */
export interface GivenText {
  readonly text: string;
}

export interface Draft {
  /** As it stands now. */
  text: string;
  /** What the editor was given last: a source that was picked, never what is typed in it. */
  given: GivenText;
  /** The beginning that has had its turn: its text was given, or another was typed or picked before it came. */
  settled: string | null;
  /** By hand, in the editor. */
  type: (text: string) => void;
  /** From elsewhere; the editor takes it in the place of its own. */
  give: (text: string) => void;
  /** From elsewhere, once it is loaded, unless something was typed or picked meanwhile. */
  pick: (load: () => Promise<string>) => void;
}

/** `beginning`: what the page was opened with. `onChange` is called at every change of the text. */
export function useDraft(beginning: string, onChange: () => void): Draft {
  const [text, setText] = useState("");
  const [given, setGiven] = useState<GivenText>({ text: "" });
  const [settled, setSettled] = useState<string | null>(null);
  const numChanges = useRef(0);
  const type = (next: string) => {
    numChanges.current += 1;
    setSettled(beginning);
    setText(next);
    onChange();
  };
  const give = (next: string) => {
    type(next);
    setGiven({ text: next });
  };
  const latest = useRef(give);
  latest.current = give;
  const pick = useCallback((load: () => Promise<string>) => {
    numChanges.current += 1;
    const asked = numChanges.current;
    void load().then((next) => {
      if (asked === numChanges.current) latest.current(next);
    });
  }, []);
  return { text, given, settled, type, give, pick };
}
