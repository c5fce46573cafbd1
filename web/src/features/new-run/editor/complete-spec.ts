/** Completion of keys and closed values from the spec's schema. */
import type {
  Completion,
  CompletionContext,
  CompletionResult,
  CompletionSource,
} from "@codemirror/autocomplete";
import type { SpecSchema } from "@/api/spec-schema";
import { cursorPath, valueAt } from "./cursor-path";
import { type Choice, keysAt, valuesAt } from "./schema-lookup";

const WORD = /^[\w./-]*$/;

export function completeSpec(schema: () => SpecSchema | undefined): CompletionSource {
  return (context: CompletionContext): CompletionResult | null => {
    const known = schema();
    const text = context.state.doc.toString();
    const place = known && cursorPath(text, context.pos);
    if (!known || !place) return null;
    const { path, key, word, from } = place;
    // A key is offered once something is typed; what may stand behind a key at once.
    if (word === "" && key === null && !context.explicit) return null;
    const at = (where: readonly string[]) => valueAt(text, where);
    const choices = key === null ? keysAt(known, path, at) : valuesAt(known, path, key, at);
    const options = choices.map((choice) => optionOf(choice, key === null));
    return options.length === 0 ? null : { from, options, validFor: WORD };
  };
}

function optionOf({ text, kind, about }: Choice, isKey: boolean): Completion {
  return {
    label: text,
    detail: kind,
    ...(isKey && { apply: `${text}: ` }),
    ...(about !== null && { info: about }),
  };
}
