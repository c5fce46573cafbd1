/** Brings what the keyboard reaches wholly into view: in a row that scrolls sideways, browsers leave it cut off. */
const PRESSABLE = "a, button, summary, select, input";

/** Returns what ends it. */
export function showFocused(): () => void {
  const show = ({ target }: FocusEvent) => {
    const isReached =
      target instanceof HTMLElement && target.matches(PRESSABLE) && target.matches(":focus-visible");
    if (isReached) target.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  document.addEventListener("focusin", show);
  return () => document.removeEventListener("focusin", show);
}
