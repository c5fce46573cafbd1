/** The pointer is over it, the keyboard is in it, or what was opened from it is open. */
const IN_HAND = ":hover, :has(:focus-visible, dialog[open], :popover-open)";

/** Whether a reader is at a part of the page, or has text of it selected: what comes must not take it away. Asked while it is
 * drawn anew. */
export function isInHand(part: Element | null): boolean {
  return part !== null && (part.matches(IN_HAND) || isSelectedIn(part));
}

/** Whether text of a part of the page is selected. */
export function isSelectedIn(part: Element | null): boolean {
  const selection = getSelection();
  return selection?.isCollapsed === false && part?.contains(selection.anchorNode) === true;
}
