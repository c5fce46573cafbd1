/** How the grid finds the element of a micro-batch: its own, or that of its rank where it is painted. */

export function cellKey(rank: number, cell: number): string {
  return `${rank}-${cell}`;
}

export function paintedKey(rank: number): string {
  return `${rank}-all`;
}

export function cellElement(
  grid: HTMLElement | null,
  { rank, cell }: { rank: number; cell: number },
): HTMLElement | null {
  const keys = [cellKey(rank, cell), paintedKey(rank)];
  return grid?.querySelector<HTMLElement>(keys.map((key) => `[data-cell="${key}"]`).join(", ")) ?? null;
}

/** The rank of such an element, and its micro-batch; null: the rank is painted whole. */
export function placeOfKey(key: string): { rank: number; cell: number | null } {
  const [rank = "0", cell = ""] = key.split("-");
  return { rank: Number(rank), cell: cell === "all" ? null : Number(cell) };
}
