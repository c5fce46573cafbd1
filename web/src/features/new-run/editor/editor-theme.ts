/** The editor in the tokens of the page, which reach into its shadow root. */
import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export const HIGHLIGHT = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--text-2)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--accent)" },
  { tag: [tags.string, tags.content], color: "var(--text)" },
  { tag: tags.comment, color: "var(--text-3)" },
  { tag: tags.punctuation, color: "var(--text-3)" },
]);

export const THEME = EditorView.theme({
  "&": {
    font: "var(--code-12)",
    color: "var(--text)",
    backgroundColor: "transparent",
    maxHeight: "var(--editor-max-height, none)",
  },
  "&.cm-focused": { outline: "0" },
  // Over the line that is written in, which would cover an outline.
  "&.cm-focused::after": {
    content: '""',
    position: "absolute",
    inset: "0",
    zIndex: "1",
    border: "2px solid var(--focus)",
    pointerEvents: "none",
  },
  ".cm-scroller": { font: "var(--code-12)", lineHeight: "20px", overflow: "auto" },
  ".cm-content": {
    padding: "8px 0",
    minHeight: "calc(var(--editor-min-height) - 16px)",
    caretColor: "var(--text)",
  },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", border: "0", color: "var(--text-3)" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 12px 0 16px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--surface-2)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--surface-3)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--surface-3)",
    outline: "0",
  },
  ".cm-placeholder": { color: "var(--text-3)" },
  ".cm-problem-line": {
    textDecoration: "underline wavy var(--state-failed)",
    textUnderlineOffset: "4px",
    textDecorationThickness: "1px",
  },
  ".cm-problem": {
    margin: "2px 16px 4px 4px",
    padding: "6px 10px",
    borderLeft: "2px solid var(--state-failed)",
    backgroundColor: "var(--state-failed-weak)",
    color: "var(--text)",
    font: "var(--text-12)",
    overflowWrap: "anywhere",
  },
  ".cm-problem b": { fontWeight: "500" },
  ".cm-tooltip": {
    border: "1px solid var(--line-2)",
    borderRadius: "var(--radius-control)",
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    boxShadow: "var(--shadow-2)",
    overflow: "hidden",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { font: "var(--code-12)", maxHeight: "220px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--surface-3)",
    color: "var(--text)",
  },
  ".cm-completionDetail": { color: "var(--text-3)", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-tooltip.cm-completionInfo": { padding: "6px 10px", maxWidth: "300px", font: "var(--text-12)" },
});
