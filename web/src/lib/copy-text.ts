/** Copies by the browser's clipboard and says whether that went well. */
import { announce } from "./announcements";

/** `what`: "Command", in "Command copied". */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce(`${what} copied`);
  } catch {
    announce("This browser does not allow copying here");
  }
}
