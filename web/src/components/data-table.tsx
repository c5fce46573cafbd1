/** A plain table: small heads in grey, hairlines, numbers to the right. Long ones are virtualised by their page. */
import type { ReactNode, TableHTMLAttributes, TdHTMLAttributes, ThHTMLAttributes } from "react";
import { classNames } from "@/lib/class-names";
import styles from "./data-table.module.css";

export interface DataTableProps extends TableHTMLAttributes<HTMLTableElement> {
  /** Heads of the columns; absent: the page gives a `thead` of its own. */
  columns?: readonly { label: ReactNode; isNumber?: boolean }[];
}

export function DataTable({ columns, className, children, ...rest }: DataTableProps) {
  return (
    <table className={classNames(styles.table, className)} {...rest}>
      {columns && (
        <thead>
          <tr>
            {columns.map(({ label, isNumber }, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is its index
              <th key={i} scope="col" data-number={isNumber || undefined}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
      )}
      {children}
    </table>
  );
}

/** A cell that holds a number. */
export function NumberCell({ className, ...rest }: TdHTMLAttributes<HTMLTableCellElement>) {
  return <td className={className} data-number {...rest} />;
}

/** The cell that names its row. */
export function RowHead({ className, ...rest }: ThHTMLAttributes<HTMLTableCellElement>) {
  return <th scope="row" className={className} {...rest} />;
}
