/** A spec as text: YAML to what is sent, and from a field that was refused back to its line. Pure. */
import { type Document, isNode, LineCounter, parseDocument } from "yaml";
import type { FieldProblem } from "@/api/problem";

/** Something wrong in the text, at a line of it where that is known. */
export interface TextProblem {
  line: number | null;
  /** `batch.global_batch_size`; empty: the text as a whole. */
  field: string;
  detail: string;
}

export interface SpecText {
  /** Undefined where the text is no YAML. */
  spec: unknown;
  problems: TextProblem[];
  lineOf: (pointer: string) => number | null;
}

export function readSpec(text: string): SpecText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const problems = document.errors.map((error) => ({
    line: error.linePos?.[0].line ?? null,
    field: "",
    detail: error.message.split("\n", 1)[0] ?? "",
  }));
  return {
    spec: problems.length === 0 ? document.toJS() : undefined,
    problems,
    lineOf: (pointer) => lineOf(document, lines, pointerPath(pointer)),
  };
}

/** What the server refused, beside the lines that say it. */
export function problemsInText(text: SpecText, fields: readonly FieldProblem[]): TextProblem[] {
  return fields.map(({ pointer, detail }) => ({
    line: text.lineOf(pointer),
    field: pointerPath(pointer).join("."),
    detail,
  }));
}

function pointerPath(pointer: string): string[] {
  const parts = pointer.split("/").slice(1);
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The line of the field, or of the nearest one around it that was written: a missing field has no line of its own. */
function lineOf(document: Document, lines: LineCounter, path: readonly string[]): number | null {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const node = document.getIn(path.slice(0, depth).map(asIndex), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return null;
}

function asIndex(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part;
}
