/** What a request throws: the server's problem (RFC 9457), or that no answer came. */

/** One field that was refused. */
export interface FieldProblem {
  /** JSON pointer into the body, `/batch/global_batch_size`, or the name of a parameter. */
  pointer: string;
  detail: string;
}

export class ApiProblem extends Error {
  override name = "ApiProblem";
  /** HTTP status; 0: no answer came. */
  readonly status: number;
  readonly detail: string;
  /** What was asked, without its query: `GET /api/v1/runs`. */
  readonly request: string;
  readonly fields: readonly FieldProblem[];

  constructor(given: { status: number; detail: string; request: string; fields?: readonly FieldProblem[] }) {
    const asked = withoutRunId(given.request);
    super(
      given.status === 0
        ? `${asked} was not answered: ${given.detail}.`
        : `${asked} answered ${given.status}: ${given.detail}.`,
    );
    this.status = given.status;
    this.detail = given.detail;
    this.request = given.request;
    this.fields = given.fields ?? [];
  }

  get isSignedOut(): boolean {
    return this.status === 401;
  }

  get isMissing(): boolean {
    return this.status === 404;
  }
}

/** The problem in an answer that is not ok, whatever its body is. */
export async function readProblem(response: Response, request: string): Promise<ApiProblem> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  return new ApiProblem({
    status: response.status,
    detail: withoutFullStop(textOf(body, "detail") ?? textOf(body, "title") ?? response.statusText),
    request,
    fields: fieldsOf(body),
  });
}

/** One sentence for a reader, whatever was thrown. */
export function problemSentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whoever reads it is on the run's page; its long id would break the line. */
function withoutRunId(request: string): string {
  return request.replace(/\/run_[0-9A-Z]{26}(?=\/|$)/, "/…");
}

function textOf(body: unknown, key: string): string | null {
  if (typeof body !== "object" || body === null) return null;
  const value: unknown = Reflect.get(body, key);
  return typeof value === "string" && value !== "" ? value : null;
}

function fieldsOf(body: unknown): FieldProblem[] {
  if (typeof body !== "object" || body === null) return [];
  const errors: unknown = Reflect.get(body, "errors");
  if (!Array.isArray(errors)) return [];
  return errors.map((entry: unknown) => ({
    pointer: textOf(entry, "pointer") ?? textOf(entry, "parameter") ?? "",
    detail: textOf(entry, "detail") ?? "",
  }));
}

function withoutFullStop(text: string): string {
  return text.replace(/\.$/, "");
}
