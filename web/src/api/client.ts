/** The only HTTP client. Every answer that is not ok, and every missing answer, is thrown as an ApiProblem. */
import createClient, { type Middleware } from "openapi-fetch";
import { ApiProblem, readProblem } from "./problem";
import type { paths } from "./schema.gen";

function nameOf(request: Request): string {
  return `${request.method} ${new URL(request.url).pathname}`;
}

const throwProblems: Middleware = {
  async onResponse({ request, response }) {
    if (!response.ok) throw await readProblem(response, nameOf(request));
  },
  onError({ request, error }) {
    // An aborted request is Query's own doing and must reach it as it is.
    if (error instanceof DOMException && error.name === "AbortError") return;
    const detail = error instanceof Error ? error.message : String(error);
    return new ApiProblem({ status: 0, detail, request: nameOf(request) });
  },
};

export const client = createClient<paths>();
client.use(throwProblems);

/** The data of an answer. The middleware has already thrown what is no data. */
export function dataOf<Data>(answer: { data?: Data | undefined }): Data {
  if (answer.data === undefined) throw new TypeError("an answer that was ok has no data");
  return answer.data;
}

/** An answer that is no JSON and stands in no API document. Throws as the client does. */
export async function getText(path: string, signal: AbortSignal): Promise<string> {
  const request = `GET ${path}`;
  const response = await fetch(path, { signal }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiProblem({ status: 0, detail: String(error), request });
  });
  if (!response.ok) throw await readProblem(response, request);
  return response.text();
}
