/** The spec of an earlier run as text to begin with, with a few fields changed. Pure. */
import { Document, isMap, isScalar, isSeq, visit } from "yaml";

/** Settings that a what-if leads here with, by their place in the spec. */
const PLACES = {
  dp: ["parallelism", "dp"],
  cp: ["parallelism", "cp"],
  pp: ["parallelism", "pp"],
  token_cap: ["schedule", "token_cap"],
  micro_batch_size: ["schedule", "micro_batch_size"],
  packer: ["schedule", "packer"],
  balance: ["schedule", "balance"],
  barrier: ["schedule", "barrier"],
} as const;

export type LayoutChanges = { [K in keyof typeof PLACES]?: string | number };

/** A micro-batch is cut by tokens or by samples, never by both. */
const OTHER_CUT = { token_cap: "micro_batch_size", micro_batch_size: "token_cap" } as const;

/** `name`: what the new run is called, so that lists tell it from the one that it was begun with. */
export function runText(spec: object, name: string, changes: LayoutChanges): string {
  const document = new Document(spec);
  document.set("name", name);
  for (const [key, value] of Object.entries(changes) as [keyof LayoutChanges, string | number][]) {
    document.setIn(PLACES[key], value);
    if (key in OTHER_CUT) document.deleteIn(["schedule", OTHER_CUT[key as keyof typeof OTHER_CUT]]);
  }
  // What is not set takes its default anyway.
  visit(document, {
    Pair: (_, pair) => (isScalar(pair.value) && pair.value.value === null ? visit.REMOVE : undefined),
  });
  foldLeaves(document);
  return document.toString({ lineWidth: 110, flowCollectionPadding: false });
}

/** A longer block is easier to read a field a line. */
const LINE_LENGTH = 92;

/** Short maps and lists of plain values stand in one line, as the examples have them. */
function foldLeaves(document: Document): void {
  visit(document, {
    Collection: (key, node) => {
      const children = isMap(node) ? node.items.map((pair) => pair.value) : isSeq(node) ? node.items : [];
      // The spec itself stays one field a line.
      const isShort = JSON.stringify(node.toJSON()).length <= LINE_LENGTH;
      if (key !== null && isShort && children.every(isScalar)) node.flow = true;
    },
  });
}
