/** A run from its spec: pasted or taken from an example, checked by the server, then launched. */
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { ApiProblem, problemSentence } from "@/api/problem";
import { useCreateRun } from "@/api/runs";
import { Banner } from "@/components/banner";
import { Button } from "@/components/button";
import { Panel } from "@/components/panel";
import { EXAMPLES } from "@/lib/examples";
import { usePageTitle } from "@/lib/use-page-title";
import styles from "./new-run-page.module.css";
import { problemsInText, readSpec, type TextProblem } from "./spec-text";

export interface NewRunPageProps {
  /** Name of the example to begin with. */
  example: string | undefined;
}

export function NewRunPage({ example }: NewRunPageProps) {
  usePageTitle("New run");
  const [text, setText] = useState("");
  const [problems, setProblems] = useState<readonly TextProblem[]>([]);
  const { launch, isPending, failure } = useLaunch(text, setProblems);
  useExample(example, setText);
  const change = (next: string) => {
    setText(next);
    setProblems([]);
  };
  return (
    <main className={styles.page}>
      <form className={styles.form} onSubmit={launch}>
        <div className={styles.head}>
          <h1 className={styles.title}>New run</h1>
          <Button variant="primary" disabled={isPending || text.trim() === ""} onClick={launch}>
            Launch run
          </Button>
        </div>
        {failure && <Banner kind="error">{failure}</Banner>}
        {problems.length > 0 && <Problems problems={problems} />}
        <Panel title="Spec" aside={<ExampleButtons onPick={change} />}>
          <textarea
            className={styles.text}
            aria-label="Spec of the run, as YAML"
            aria-invalid={problems.length > 0}
            spellCheck={false}
            rows={36}
            value={text}
            onChange={(event) => change(event.target.value)}
            placeholder={"name: my-run\nmodel: …"}
          />
        </Panel>
      </form>
    </main>
  );
}

function useLaunch(text: string, setProblems: (problems: readonly TextProblem[]) => void) {
  const navigate = useNavigate();
  const create = useCreateRun();
  const [failure, setFailure] = useState<string | null>(null);
  const launch = (event?: FormEvent) => {
    event?.preventDefault();
    const read = readSpec(text);
    setProblems(read.problems);
    setFailure(null);
    if (read.problems.length > 0) return;
    create.mutate(read.spec, {
      onSuccess: (run) => navigate({ to: "/runs/$runId", params: { runId: run.id } }),
      onError: (error) => {
        const fields = error instanceof ApiProblem ? error.fields : [];
        setProblems(problemsInText(read, fields));
        if (fields.length === 0) setFailure(problemSentence(error));
      },
    });
  };
  return { launch, isPending: create.isPending, failure };
}

function useExample(name: string | undefined, setText: (text: string) => void): void {
  useEffect(() => {
    const example = EXAMPLES.find((each) => each.name === name);
    let isWanted = true;
    example?.load().then((text) => isWanted && setText(text));
    return () => {
      isWanted = false;
    };
  }, [name, setText]);
}

function ExampleButtons({ onPick }: { onPick: (text: string) => void }) {
  if (EXAMPLES.length === 0) return null;
  return (
    <>
      Begin with
      {EXAMPLES.map((example) => (
        <Button key={example.name} onClick={() => example.load().then(onPick)}>
          {example.name}
        </Button>
      ))}
    </>
  );
}

function Problems({ problems }: { problems: readonly TextProblem[] }) {
  return (
    <Panel title="The spec is refused" className={styles.refused} aria-live="assertive">
      <ul className={styles.problems}>
        {problems.map((problem) => (
          <li key={`${problem.line} ${problem.field} ${problem.detail}`}>
            <span className={styles.where}>
              {problem.line !== null && <b>line {problem.line}</b>} <code>{problem.field}</code>
            </span>
            <bdi>{problem.detail}</bdi>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
