/** What the books say, in one sentence. Pure. */
import { formatPercent } from "@/lib/numbers";
import type { Books } from "./accounts";

export function findingOf({ outs, numOut }: Books): string {
  if (numOut === 0) return "No rollout has been generated.";
  const trained = outs.find(({ kind }) => kind === "trained")?.count ?? 0;
  if (trained === numOut) return "All rollouts were trained.";
  const [most] = outs.filter(({ kind }) => kind !== "trained").sort((a, b) => b.count - a.count);
  const head = `${formatPercent(trained / numOut)} of the rollouts were trained.`;
  if (!most || most.count === 0) return head;
  const what = most.label.charAt(0).toLowerCase() + most.label.slice(1);
  const others = trained + most.count === numOut ? "The others" : "Most of the others";
  return `${head} ${others} were ${what}, ${formatPercent(most.count / numOut)}.`;
}
