/** The JSON schema of the RunSpec, from the server's own API document: what the editor completes from. */
import { queryOptions } from "@tanstack/react-query";
import { readProblem } from "./problem";

/** As much of JSON schema as the API document uses. */
export interface JsonSchema {
  $ref?: string;
  type?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, JsonSchema>>;
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
}

export interface SpecSchema {
  root: JsonSchema;
  definitions: Readonly<Record<string, JsonSchema>>;
}

const PATH = "/openapi.json";

export function specSchemaOptions() {
  return queryOptions({
    queryKey: ["spec-schema"],
    queryFn: async ({ signal }): Promise<SpecSchema> => {
      const answer = await fetch(PATH, { signal });
      if (!answer.ok) throw await readProblem(answer, `GET ${PATH}`);
      const definitions = (await answer.json()).components.schemas as SpecSchema["definitions"];
      return { root: definitions.RunSpec ?? {}, definitions };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}
