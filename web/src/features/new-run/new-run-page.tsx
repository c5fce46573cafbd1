/** A run from its spec: an example, an earlier run or YAML; planned while it is written, launched when it is right. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ApiProblem, problemSentence } from "@/api/problem";
import { useCreateRun } from "@/api/runs";
import { specSchemaOptions } from "@/api/spec-schema";
import type { Run } from "@/api/types";
import { Banner } from "@/components/banner";
import { Button } from "@/components/button";
import { LoadingBars } from "@/components/loading-bars";
import { Page } from "@/components/page";
import { Segmented } from "@/components/segmented";
import { EXAMPLES } from "@/lib/examples";
import { formatCount } from "@/lib/numbers";
import { usePageTitle } from "@/lib/use-page-title";
import { BATCH_TYPES, batchTypeOf, withBatchType } from "./batch-block";
import { Changes, ChangesInWords } from "./changes";
import { SpecEditor } from "./editor/spec-editor";
import { useKeptFrac } from "./kept-frac";
import styles from "./new-run-page.module.css";
import { PlanPart } from "./plan/plan-part";
import { type Measured, type Planned, usePlan } from "./plan/use-plan";
import type { LayoutChanges } from "./run-text";
import { problemsInText, readSpec, type TextProblem } from "./spec-text";
import { beginningKey, useBeginning } from "./use-beginning";
import { type Draft, useDraft } from "./use-draft";

/** About as high as the shortest example. */
const LOADING_LINES = 22;
const LOADING_LINE_PX = 20;

export interface NewRunPageProps {
  /** Name of the example to begin with. */
  example: string | undefined;
  /** Id of the run to begin with, and what shall differ from it. */
  from: string | undefined;
  changes: LayoutChanges;
}

export function NewRunPage({ example, from, changes }: NewRunPageProps) {
  usePageTitle("New run");
  const [refused, setRefused] = useState<readonly TextProblem[]>([]);
  const beginning = { example, from, changes };
  const draft = useDraft(beginningKey(beginning), () => setRefused([]));
  const { text } = draft;
  const { parent, error, isLoading } = useBeginning(beginning, draft);
  const [usesOwnLengths, setUsesOwnLengths] = useState(false);
  // A run that made no step has no lengths to give.
  const measured = parent && parent.num_steps > 0 ? parent : null;
  const keptFrac = useKeptFrac(measured?.id ?? null);
  const plan = usePlan(text, usesOwnLengths ? null : measured && takenFrom(measured.id, keptFrac));
  const { launch, isPending, failure } = useLaunch(text, setRefused);
  const problems = refused.length > 0 ? refused : plan.problems;
  const why = isLoading ? null : whyNoLaunch(plan, problems);
  return (
    <Page
      title="New run"
      className={styles.page}
      note={<Beginnings parent={parent} onPick={draft.pick} />}
      actions={
        <>
          {why && <span className={styles.why}>{why}</span>}
          {!why && parent && <ChangesInWords parent={parent} text={text} />}
          <Button
            variant="primary"
            className={styles.launch}
            disabled={isPending || isLoading || why !== null}
            onClick={launch}
          >
            Launch run
          </Button>
        </>
      }
    >
      {error && <Banner kind="error">{problemSentence(error)}</Banner>}
      {failure && <Banner kind="error">{failure}</Banner>}
      <div className={styles.columns}>
        <div className={styles.left}>
          <SpecPanel draft={draft} plan={plan} problems={problems} isLoading={isLoading} />
          {parent && <Changes parent={parent} text={text} />}
        </div>
        <PlanPart
          plan={plan}
          isLoading={isLoading}
          parent={measured}
          keptFrac={keptFrac ?? null}
          usesOwnLengths={usesOwnLengths}
          setUsesOwnLengths={setUsesOwnLengths}
        />
      </div>
    </Page>
  );
}

/** Undefined until it is known what was kept. */
function takenFrom(runId: string, keptFrac: number | null | undefined): Measured | undefined {
  return keptFrac === undefined ? undefined : { runId, keptFrac };
}

/** Why the text as it stands cannot be launched; null: it can. */
function whyNoLaunch(plan: Planned, problems: readonly TextProblem[]): string | null {
  if (plan.isEmpty) return "Write a spec to launch, or begin with an example.";
  if (!plan.isAnswered) return "Checking the spec";
  return problems.length > 0 ? "Mend the errors to launch." : null;
}

interface SpecPanelProps {
  draft: Draft;
  plan: Planned;
  problems: readonly TextProblem[];
  isLoading: boolean;
}

function SpecPanel({ draft, plan, problems, isLoading }: SpecPanelProps) {
  const { text } = draft;
  const schema = useQuery(specSchemaOptions());
  const batch = batchTypeOf(text);
  return (
    <section className={styles.spec} aria-label="Spec">
      <div className={styles.specHead}>
        <span className={styles.label}>Batch policy</span>
        <Segmented
          label="Batch policy"
          options={BATCH_TYPES.map((value) => ({ value, label: value }))}
          // Before there is a text no policy is chosen.
          value={batch ?? ("" as (typeof BATCH_TYPES)[number])}
          onChange={(type) => type !== batch && draft.give(withBatchType(text, type))}
        />
      </div>
      {isLoading ? (
        <LoadingBars rows={LOADING_LINES} rowHeight={LOADING_LINE_PX} isText />
      ) : (
        <SpecEditor
          label="Spec of the run, as YAML"
          className={styles.editor}
          given={draft.given}
          onChange={draft.type}
          problems={problems}
          schema={schema.data}
        />
      )}
      {isLoading ? (
        <p className={styles.foot}>Loading the spec</p>
      ) : (
        <Problems plan={plan} problems={problems} />
      )}
    </section>
  );
}

/** Under the text: how many, and those that have no line of their own. */
function Problems({ plan, problems }: Pick<SpecPanelProps, "plan" | "problems">) {
  if (plan.isEmpty || problems.length === 0) return <p className={styles.foot}>{withoutProblems(plan)}</p>;
  return (
    <section className={styles.foot} aria-label="The spec is refused" aria-live="polite">
      <p className={styles.refused}>{formatCount(problems.length, "error")}</p>
      <ul className={styles.problems}>
        {problems.map((problem) => (
          <li key={`${problem.line} ${problem.field} ${problem.detail}`}>
            {problem.line !== null && <b>line {problem.line}</b>} <code>{problem.field}</code>{" "}
            <bdi>{problem.detail}</bdi>
          </li>
        ))}
      </ul>
    </section>
  );
}

function withoutProblems(plan: Planned): string {
  if (plan.isEmpty) return "No spec yet";
  if (!plan.isAnswered) return "Checking the spec";
  return plan.isChecked ? "No errors" : "Not checked: the plan did not load";
}

function Beginnings({ parent, onPick }: { parent: Run | null; onPick: Draft["pick"] }) {
  return (
    <>
      {parent ? (
        <span>
          from <bdi>{parent.name}</bdi>, or begin with
        </span>
      ) : (
        "Begin with"
      )}
      {EXAMPLES.map((example) => (
        <Button key={example.name} onClick={() => onPick(example.load)}>
          {example.name}
        </Button>
      ))}
    </>
  );
}

function useLaunch(text: string, setProblems: (problems: readonly TextProblem[]) => void) {
  const navigate = useNavigate();
  const create = useCreateRun();
  const [failure, setFailure] = useState<string | null>(null);
  const launch = () => {
    const read = readSpec(text);
    setProblems([]);
    setFailure(null);
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
