/** What follows the sentence in the reason of a failure: a traceback, or only what the driver wrote last. Pure. */
import { firstLine } from "@/lib/texts";

const TRACEBACK = "Traceback (most recent call last)";

/** Null where the reason is only a sentence. */
export function outputOf(reason: string): { title: string; text: string } | null {
  const cause = firstLine(reason);
  const text = reason.slice(reason.indexOf(cause) + cause.length).trim();
  if (text === "") return null;
  return { title: text.includes(TRACEBACK) ? "Traceback" : "Last lines of the driver’s output", text };
}
