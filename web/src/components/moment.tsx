/** A moment as text; hovering tells it in full, with its zone and in UTC. */
import { formatAgo, formatIso, formatMoment } from "@/lib/times";
import { useNow } from "@/lib/use-now";

const PACE_MS = { ago: 1000, moment: 60_000 };

export interface MomentProps {
  /** ISO 8601, as the API gives it. */
  at: string;
  /** `17 h ago`, or `12 Nov 14:32`. */
  as?: "ago" | "moment";
}

export function Moment({ at, as = "moment" }: MomentProps) {
  const now = new Date(useNow(PACE_MS[as]));
  const date = new Date(at);
  return (
    <time dateTime={at} title={formatIso(date)}>
      {as === "ago" ? formatAgo(date, now) : formatMoment(date, now)}
    </time>
  );
}
