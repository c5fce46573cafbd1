/** Which steps' books are shown, in the URL. */
export interface LedgerSearch {
  /** First step; the books count whole iterations. */
  from?: number;
  /** End of the steps, itself not included. */
  to?: number;
}

export function parseLedgerSearch(raw: Record<string, unknown>): LedgerSearch {
  const [from, to] = [stepOf(raw.from), stepOf(raw.to)];
  const isEmpty = from !== null && to !== null && from >= to;
  return {
    ...(from !== null && { from }),
    ...(to !== null && !isEmpty && { to }),
  };
}

function stepOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
