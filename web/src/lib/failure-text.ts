/** What a failure says of itself, in a reason or an event: a sentence, and behind it a traceback or only what the driver
 * wrote last. Pure. */
import { firstLine } from "./texts";

const TRACEBACK = "Traceback (most recent call last)";

export interface FailureText {
  /** What happened, in one line. */
  said: string;
  /** Null where the text is only a sentence. */
  output: { title: string; text: string; isTraceback: boolean } | null;
}

export function failureText(text: string): FailureText {
  const said = firstLine(text);
  const rest = text.slice(text.indexOf(said) + said.length).trim();
  if (rest === "") return { said, output: null };
  const isTraceback = rest.includes(TRACEBACK);
  const title = isTraceback ? "Traceback" : "Last lines of the driver’s output";
  return { said, output: { title, text: rest, isTraceback } };
}
