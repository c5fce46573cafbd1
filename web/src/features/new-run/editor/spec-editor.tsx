/** The editor of a spec: CodeMirror in a shadow root, where it may add its styles under the page's policy. */
import { useEffect, useRef } from "react";
import type { SpecSchema } from "@/api/spec-schema";
import type { TextProblem } from "../spec-text";
import type { GivenText } from "../use-draft";
import { createEditor, type Editor } from "./create-editor";

export interface SpecEditorProps {
  /** The accessible name. */
  label: string;
  className?: string | undefined;
  /** The document that it begins with; only another one takes the place of what is typed. The text as it stands never
   * comes back in: drawn late, it would be older than the document and undo the newest keys. */
  given: GivenText;
  onChange: (text: string) => void;
  /** Shown under the lines that they are about. */
  problems: readonly TextProblem[];
  /** Undefined: without completion. */
  schema: SpecSchema | undefined;
}

export function SpecEditor({ label, className, given, onChange, problems, schema }: SpecEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const latest = useRef({ given, onChange, schema });
  useEffect(() => {
    latest.current = { given, onChange, schema };
  });
  useEffect(() => {
    if (!place.current) return;
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
    const made = createEditor({
      root,
      label,
      text: latest.current.given.text,
      onChange: (changed) => latest.current.onChange(changed),
      schema: () => latest.current.schema,
    });
    editor.current = made;
    return () => made.destroy();
  }, [label]);
  useEffect(() => editor.current?.setText(given.text), [given]);
  useEffect(() => editor.current?.setProblems(problems), [problems]);
  return <div ref={place} className={className} />;
}
