import { expect, test } from "vitest";
import { ApiProblem, problemSentence, readProblem } from "./problem";

function answer(body: unknown, status: number): Response {
  return new Response(typeof body === "string" ? body : JSON.stringify(body), { status, statusText: "Bad" });
}

test("a problem names what was asked and what was answered", async () => {
  const problem = await readProblem(answer({ detail: "ingest queue full." }, 503), "GET /api/v1/runs");
  expect(problem.message).toBe("GET /api/v1/runs answered 503: ingest queue full.");
});

test("of a request for a run its id is left out: it is long, and on the page", async () => {
  const request = "GET /api/v1/runs/run_01M8PWV9GKJYWN77C5NN97NHBY/logs";
  const problem = await readProblem(answer({ detail: "ingest queue full" }, 503), request);
  expect(problem.message).toBe("GET /api/v1/runs/…/logs answered 503: ingest queue full.");
  expect(problem.request).toBe(request);
});

test("the fields that were refused keep their pointers", async () => {
  const body = {
    title: "Bad spec",
    errors: [
      { pointer: "/batch/type", detail: "unknown type" },
      { parameter: "limit", detail: "too many" },
    ],
  };
  const problem = await readProblem(answer(body, 422), "POST /api/v1/runs");
  expect(problem.fields).toEqual([
    { pointer: "/batch/type", detail: "unknown type" },
    { pointer: "limit", detail: "too many" },
  ]);
});

test("an answer that is no JSON is a problem all the same", async () => {
  const problem = await readProblem(answer("<html>", 502), "GET /api/v1/runs");
  expect(problem.detail).toBe("Bad");
  expect(problem.fields).toEqual([]);
});

test("no answer at all says so", () => {
  const problem = new ApiProblem({ status: 0, detail: "Failed to fetch", request: "GET /api/v1/runs" });
  expect(problemSentence(problem)).toBe("GET /api/v1/runs was not answered: Failed to fetch.");
  expect(problem.isSignedOut).toBe(false);
});
