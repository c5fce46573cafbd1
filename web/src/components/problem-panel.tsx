/** A request that failed, in the place of what it should have brought, with the time of the next try. */
import { useEffect, useState } from "react";
import { Button } from "./button";
import { EmptyState } from "./empty-state";

export interface ProblemPanelProps {
  /** What is missing, as a sentence without its full stop: "This chart did not load". */
  title: string;
  /** What was asked and what was answered: "GET /api/v1/runs answered 503: ingest queue full." */
  detail: string;
  onRetry: () => void;
  /** Tries by itself after so many seconds; absent: only on demand. */
  retryAfterS?: number;
  headingLevel?: 1 | 2 | 3;
}

export function ProblemPanel({ title, detail, onRetry, retryAfterS, headingLevel = 2 }: ProblemPanelProps) {
  const remaining = useCountdown(retryAfterS, onRetry);
  return (
    <EmptyState
      title={title}
      headingLevel={headingLevel}
      actions={<Button onClick={onRetry}>Try now</Button>}
    >
      <span dir="auto">{detail}</span>
      {remaining !== null && ` Trying again in ${remaining}\u00a0s.`}
    </EmptyState>
  );
}

/** Seconds until `onEnd` is called, again and again; null where nothing is tried. */
function useCountdown(seconds: number | undefined, onEnd: () => void): number | null {
  const [remaining, setRemaining] = useState(seconds ?? null);
  useEffect(() => {
    if (seconds === undefined) return;
    setRemaining(seconds);
    let left = seconds;
    const timer = setInterval(() => {
      left -= 1;
      if (left <= 0) {
        onEnd();
        left = seconds;
      }
      setRemaining(left);
    }, 1000);
    return () => clearInterval(timer);
  }, [seconds, onEnd]);
  return remaining;
}
