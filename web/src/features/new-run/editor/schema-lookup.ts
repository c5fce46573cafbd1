/** What may stand at a place of the spec, from its JSON schema. Pure. */
import type { JsonSchema, SpecSchema } from "@/api/spec-schema";

export interface Choice {
  text: string;
  /** `integer`, `adaptive`, … in one word. */
  kind: string;
  about: string | null;
}

/** What stands at a path already: for unions, which are told apart by `type`. */
export type ValueAt = (path: readonly string[]) => unknown;

/** Keys of the map at this path. */
export function keysAt(schema: SpecSchema, path: readonly string[], valueAt: ValueAt): Choice[] {
  return variantsAt(schema, path, valueAt).flatMap((variant) =>
    Object.entries(variant.properties ?? {}).map(([text, child]) => ({
      text,
      kind: kindOf(schema, child),
      about: child.description ?? null,
    })),
  );
}

/** Values that a closed set of them allows. */
export function valuesAt(
  schema: SpecSchema,
  path: readonly string[],
  key: string,
  valueAt: ValueAt,
): Choice[] {
  // Of a union's `type` every variant has one value.
  const variants =
    key === "type" ? variantsOf(schema, nodeAt(schema, path, valueAt)) : variantsAt(schema, path, valueAt);
  const choices = variants.flatMap((variant) =>
    variantsOf(schema, variant.properties?.[key] ?? {}).flatMap((node) =>
      constantsOf(node).map((text) => ({
        text,
        kind: key === "type" ? "variant" : "value",
        about: (key === "type" ? variant.description : node.description) ?? null,
      })),
    ),
  );
  return choices.filter(({ text }, i) => choices.findIndex((one) => one.text === text) === i);
}

function constantsOf(node: JsonSchema): string[] {
  if (node.const !== undefined) return [String(node.const)];
  if (node.enum) return node.enum.map(String);
  return node.type === "boolean" ? ["true", "false"] : [];
}

function resolved(schema: SpecSchema, node: JsonSchema): JsonSchema {
  const name = node.$ref?.split("/").pop();
  const target = name === undefined ? undefined : schema.definitions[name];
  return target ? { ...target, ...(node.description && { description: node.description }) } : node;
}

/** The node itself, or the parts of its union, null left out. */
function variantsOf(schema: SpecSchema, node: JsonSchema): JsonSchema[] {
  const whole = resolved(schema, node);
  const parts = whole.anyOf ?? whole.oneOf;
  if (!parts) return whole.type === "null" ? [] : [whole];
  return parts.flatMap((part) => variantsOf(schema, part));
}

function nodeAt(schema: SpecSchema, path: readonly string[], valueAt: ValueAt): JsonSchema {
  return path.reduce<JsonSchema>((node, part, depth) => {
    const variants = matching(schema, node, valueAt(path.slice(0, depth)));
    const children = variants.flatMap((variant) => variant.properties?.[part] ?? variant.items ?? []);
    return children.length === 1 ? (children[0] as JsonSchema) : { anyOf: children };
  }, schema.root);
}

function variantsAt(schema: SpecSchema, path: readonly string[], valueAt: ValueAt): JsonSchema[] {
  return matching(schema, nodeAt(schema, path, valueAt), valueAt(path));
}

/** Of a union told apart by `type`, the variant that is written; all of them while none is. */
function matching(schema: SpecSchema, node: JsonSchema, value: unknown): JsonSchema[] {
  const variants = variantsOf(schema, node);
  const type = typeOf(value);
  const fits = variants.filter((variant) => constantsOf(variant.properties?.type ?? {}).includes(type ?? ""));
  return fits.length > 0 ? fits : variants;
}

function typeOf(value: unknown): string | null {
  const get = typeof value === "object" && value !== null ? Reflect.get(value, "get") : null;
  const type = typeof get === "function" ? get.call(value, "type") : null;
  return typeof type === "string" ? type : null;
}

function kindOf(schema: SpecSchema, node: JsonSchema): string {
  const kinds = variantsOf(schema, node).map((variant) =>
    variant.properties?.type
      ? (constantsOf(variant.properties.type)[0] ?? "object")
      : constantsOf(variant).length > 0
        ? "choice"
        : (variant.type ?? ""),
  );
  return [...new Set(kinds)].join(" | ");
}
