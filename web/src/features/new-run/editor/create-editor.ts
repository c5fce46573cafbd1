/** CodeMirror as the spec needs it: YAML, completion from the schema, problems under their lines. Knows no React. */
import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import type { SpecSchema } from "@/api/spec-schema";
import type { TextProblem } from "../spec-text";
import { completeSpec } from "./complete-spec";
import { HIGHLIGHT, THEME } from "./editor-theme";
import { hangingIndent } from "./hanging-indent";
import { problemLines, setProblems } from "./problem-lines";

export interface Editor {
  setText(text: string): void;
  setProblems(problems: readonly TextProblem[]): void;
  destroy(): void;
}

export interface EditorGiven {
  root: ShadowRoot;
  label: string;
  text: string;
  onChange: (text: string) => void;
  schema: () => SpecSchema | undefined;
}

export function createEditor({ root, label, text, onChange, schema }: EditorGiven): Editor {
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        bracketMatching(),
        closeBrackets(),
        indentUnit.of("  "),
        yaml(),
        syntaxHighlighting(HIGHLIGHT),
        THEME,
        autocompletion({ override: [completeSpec(schema)], icons: false }),
        problemLines,
        placeholder("name: my-run"),
        // The Tab key goes on through the page.
        keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.lineWrapping,
        hangingIndent,
        // It scrolls on a narrow screen: that it takes the focus is said, not only so.
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText(next) {
      const old = view.state.doc.toString();
      if (next !== old) view.dispatch({ changes: { from: 0, to: old.length, insert: next } });
    },
    setProblems(problems) {
      view.dispatch({ effects: setProblems.of(problems) });
    },
    destroy: () => view.destroy(),
  };
}
