/** Problems in the text: their lines underlined, the sentence under each. */
import { type Extension, type Range, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import type { TextProblem } from "../spec-text";

export const setProblems = StateEffect.define<readonly TextProblem[]>();

class ProblemWidget extends WidgetType {
  private readonly problem: TextProblem;

  constructor(problem: TextProblem) {
    super();
    this.problem = problem;
  }

  override eq(other: ProblemWidget): boolean {
    return other.problem.field === this.problem.field && other.problem.detail === this.problem.detail;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("div");
    box.className = "cm-problem";
    const field = document.createElement("b");
    field.textContent = this.problem.field;
    const detail = document.createElement("bdi");
    detail.textContent = this.problem.detail;
    box.append(field, " ", detail);
    return box;
  }
}

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(old, transaction) {
    const told = transaction.effects.find((effect) => effect.is(setProblems));
    if (told) return decorationsOf(told.value, transaction.state.doc);
    return old.map(transaction.changes);
  },
  provide: (self) => EditorView.decorations.from(self),
});

function decorationsOf(problems: readonly TextProblem[], doc: Text): DecorationSet {
  const ranges = problems.flatMap((problem): Range<Decoration>[] => {
    if (problem.line === null || problem.line > doc.lines) return [];
    const line = doc.line(problem.line);
    const start = line.from + (/^\s*/.exec(line.text)?.[0].length ?? 0);
    const widget = Decoration.widget({ widget: new ProblemWidget(problem), block: true, side: 1 });
    const note = widget.range(line.to);
    return start < line.to
      ? [Decoration.mark({ class: "cm-problem-line" }).range(start, line.to), note]
      : [note];
  });
  return Decoration.set(ranges, true);
}

export const problemLines: Extension = field;
