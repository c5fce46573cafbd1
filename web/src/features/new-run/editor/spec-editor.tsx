/** The editor of a spec: CodeMirror in a shadow root, where it may add its styles under the page's policy. */
import { useEffect, useRef } from "react";
import type { SpecSchema } from "@/api/spec-schema";
import type { TextProblem } from "../spec-text";
import { createEditor, type Editor } from "./create-editor";

export interface SpecEditorProps {
  /** The accessible name. */
  label: string;
  className?: string | undefined;
  text: string;
  onChange: (text: string) => void;
  /** Shown under the lines that they are about. */
  problems: readonly TextProblem[];
  /** Undefined: without completion. */
  schema: SpecSchema | undefined;
}

export function SpecEditor({ label, className, text, onChange, problems, schema }: SpecEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const latest = useRef({ text, onChange, schema });
  useEffect(() => {
    latest.current = { text, onChange, schema };
  });
  useEffect(() => {
    if (!place.current) return;
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
    const made = createEditor({
      root,
      label,
      text: latest.current.text,
      onChange: (changed) => latest.current.onChange(changed),
      schema: () => latest.current.schema,
    });
    editor.current = made;
    return () => made.destroy();
  }, [label]);
  useEffect(() => editor.current?.setText(text), [text]);
  useEffect(() => editor.current?.setProblems(problems), [problems]);
  return <div ref={place} className={className} />;
}
