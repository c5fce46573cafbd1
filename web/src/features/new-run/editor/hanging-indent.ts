/** A line that wraps goes on deeper than it began: in YAML the depth says to what a text belongs. */
import { type Extension, RangeSetBuilder } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  type EditorView,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";

const DEEPER = 4;
/** Beyond it little would be left of a narrow line. */
const DEEPEST = 16;
/** What the editor gives every line. */
const LINE_PADDING_PX = 6;

/** Columns by which the rest of a wrapped line is set in. */
export function hangOf(line: string): number {
  const [indent = "", hash = ""] = /^( *)(# *)?/.exec(line)?.slice(1) ?? [];
  return Math.min(DEEPEST, indent.length + (hash ? hash.length : DEEPER));
}

function decorationsOf({ state, visibleRanges }: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = state.doc.lineAt(at);
      const columns = hangOf(line.text);
      const style = `padding-left: calc(${columns}ch + ${LINE_PADDING_PX}px); text-indent: -${columns}ch`;
      builder.add(line.from, line.from, Decoration.line({ attributes: { style } }));
      at = line.to + 1;
    }
  }
  return builder.finish();
}

export const hangingIndent: Extension = ViewPlugin.define(
  (view) => {
    const value = {
      decorations: decorationsOf(view),
      update(update: ViewUpdate) {
        if (update.docChanged || update.viewportChanged) value.decorations = decorationsOf(update.view);
      },
    };
    return value;
  },
  { decorations: (value) => value.decorations },
);
