/** What differs from the run that the spec was begun with. */
import type { Run } from "@/api/types";
import { DataTable } from "@/components/data-table";
import { Panel } from "@/components/panel";
import { MISSING } from "@/lib/numbers";
import { changesBetween, valueText } from "@/lib/spec-diff";
import styles from "./new-run-page.module.css";
import { readSpec } from "./spec-text";

const COLUMNS = [{ label: "Field" }, { label: "was" }, { label: "is" }];

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
