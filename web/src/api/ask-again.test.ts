import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { askAgain } from "./ask-again";

/** A page that looks at one key, and a server whose answers are given one by one. */
function lookAt(queryClient: QueryClient, queryKey: string[]) {
  const answers: ((data: string) => void)[] = [];
  const queryFn = () => new Promise<string>((answer) => answers.push(answer));
  const observer = new QueryObserver(queryClient, { queryKey, queryFn, staleTime: 30_000 });
  const stop = observer.subscribe(() => {});
  return { answers, stop, data: () => observer.getCurrentResult().data };
}

const settle = () => new Promise((resolve) => setTimeout(resolve));

test("what is there is asked again", async () => {
  const queryClient = new QueryClient();
  const page = lookAt(queryClient, ["run"]);
  page.answers[0]?.("old");
  await settle();
  askAgain(queryClient);
  await settle();
  page.answers[1]?.("new");
  await settle();
  expect([page.data(), page.answers.length]).toEqual(["new", 2]);
});

test("a first answer that is on its way is shown, and asked again", async () => {
  const queryClient = new QueryClient();
  const page = lookAt(queryClient, ["run"]);
  askAgain(queryClient);
  await settle();
  expect(page.answers).toHaveLength(1);
  page.answers[0]?.("old");
  await settle();
  expect([page.data(), page.answers.length]).toEqual(["old", 2]);
  page.answers[1]?.("new");
  await settle();
  expect([page.data(), page.answers.length]).toEqual(["new", 2]);
});

test("a later answer that is on its way is dropped and asked again", async () => {
  const queryClient = new QueryClient();
  const page = lookAt(queryClient, ["run"]);
  page.answers[0]?.("first");
  await settle();
  void queryClient.refetchQueries();
  askAgain(queryClient);
  await settle();
  page.answers[1]?.("old");
  page.answers[2]?.("new");
  await settle();
  expect([page.data(), page.answers.length]).toEqual(["new", 3]);
});

test("what nobody looks at is asked when somebody does", async () => {
  const queryClient = new QueryClient();
  const page = lookAt(queryClient, ["run"]);
  page.answers[0]?.("old");
  await settle();
  page.stop();
  askAgain(queryClient);
  await settle();
  expect(page.answers).toHaveLength(1);
  expect(lookAt(queryClient, ["run"]).answers).toHaveLength(1);
});

test("what was never asked is not asked", async () => {
  const queryClient = new QueryClient();
  askAgain(queryClient);
  const page = lookAt(queryClient, ["run"]);
  page.answers[0]?.("only");
  await settle();
  expect(page.answers).toHaveLength(1);
});
