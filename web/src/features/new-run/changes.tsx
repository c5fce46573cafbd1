/** What differs from the run that the spec was begun with. */
import type { Run } from "@/api/types";
import { DataTable } from "@/components/data-table";
import { Panel } from "@/components/panel";
import { formatCount, MISSING } from "@/lib/numbers";
import { changesBetween, type SpecChange, valueText } from "@/lib/spec-diff";
import styles from "./new-run-page.module.css";
import { readSpec } from "./spec-text";

/** A longer one is read in the table. */
const LONGEST_CHANGE = 60;
const COLUMNS = [{ label: "Field" }, { label: "was" }, { label: "is" }];

/** Beside what launches it: the table may be far below. The run that it was begun with is named at the head's left. */
export function ChangesInWords({ parent, text }: { parent: Run; text: string }) {
  const { spec } = readSpec(text);
  if (spec === undefined) return null;
  // Every run has a name of its own.
  const changes = changesBetween(parent.spec, spec).filter(({ path }) => path !== "name");
  const [first] = changes;
  const only = changes.length === 1 && first ? changeText(first) : "";
  const told = only !== "" && only.length <= LONGEST_CHANGE ? only : formatCount(changes.length, "change");
  return (
    <span className={styles.changed} dir="auto">
      {changes.length === 0 ? "Nothing changed yet" : told}
    </span>
  );
}

function changeText({ path, was, is }: SpecChange): string {
  return `${path} ${valueText(was) || MISSING} → ${valueText(is) || MISSING}`;
}

export function Changes({ parent, text }: { parent: Run; text: string }) {
  const { spec } = readSpec(text);
  // While a text is no YAML there is nothing to compare.
  if (spec === undefined) return null;
  const changes = changesBetween(parent.spec, spec);
  return (
    <Panel
      title={
        <>
          Changed against <bdi>{parent.name}</bdi>
        </>
      }
      className={styles.changes}
    >
      {changes.length === 0 ? (
        <p className={styles.same}>Nothing: this is the same spec.</p>
      ) : (
        <DataTable columns={COLUMNS}>
          <tbody>
            {changes.map(({ path, was, is }) => (
              <tr key={path}>
                <th scope="row">{path}</th>
                <td>
                  <bdi>{valueText(was) || MISSING}</bdi>
                </td>
                <td>
                  <bdi>{valueText(is) || MISSING}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </DataTable>
      )}
    </Panel>
  );
}
