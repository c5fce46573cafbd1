/** Why a record is not there: the server keeps only so much, and says how much. Asked for only where one is missing. */
import { useQuery } from "@tanstack/react-query";
import { retentionOptions } from "@/api/retention";
import type { RecordKind } from "@/api/types";

export interface NotKeptProps {
  runId: string;
  kind: RecordKind;
  /** What is so, without a full stop: `It is older than what is kept`. The limit is told behind it. */
  what: string;
  /** The step that it belongs to; without one whatever is gone of this kind is the reason. */
  step?: number;
  /** The whole sentence where it was never there. */
  otherwise?: string;
}

export function NotKept({ runId, kind, what, step, otherwise }: NotKeptProps) {
  const { data, isPending } = useQuery(retentionOptions(runId));
  const gone = data?.pruned.find((records) => records.kind === kind);
  if (gone && (step === undefined || step < gone.up_to))
    return `${what} ${gone.message.replace("not kept ", "")}.`;
  return isPending ? null : otherwise;
}
