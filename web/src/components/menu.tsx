/** A button that opens a list of actions over the page, by the browser's own popover: Esc and a click beside it close. */
import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from "react";
import { IconButton } from "./button";
import type { IconName } from "./icon";
import styles from "./menu.module.css";

export interface MenuItem {
  label: string;
  /** It takes something away. */
  isDanger?: boolean;
  act: () => void;
}

export interface MenuProps {
  label: string;
  icon?: IconName;
  items: readonly MenuItem[];
}

export function Menu({ label, icon = "more", items }: MenuProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLSpanElement>(null);
  /** As they were when it was opened: none takes the place of another under the hand. Null: it is closed. */
  const [shown, setShown] = useState<readonly MenuItem[] | null>(null);
  const isOpen = shown !== null;
  useLayoutEffect(() => {
    if (!isOpen || !button.current || !list.current) return;
    place(list.current, button.current.getBoundingClientRect());
    moveFocus(list.current, Number.NEGATIVE_INFINITY);
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    // No key in here is the page's: one that it takes would also keep Esc from closing.
    event.stopPropagation();
    if (event.key === "Tab") list.current?.hidePopover();
    const to = MOVES[event.key];
    if (to === undefined) return;
    event.preventDefault();
    moveFocus(list.current, to);
  };
  return (
    <span ref={button} className={styles.place}>
      <IconButton
        icon={icon}
        label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popoverTarget={id}
        onClick={(event) => event.stopPropagation()}
      />
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        className={styles.menu}
        onKeyDown={onKeyDown}
        onToggle={({ newState }) => setShown(newState === "open" ? items : null)}
      >
        {shown?.map((item) => (
          <Item key={item.label} item={item} onChoose={() => list.current?.hidePopover()} />
        ))}
      </div>
    </span>
  );
}

function Item({ item, onChoose }: { item: MenuItem; onChoose: () => void }) {
  return (
    <button
      type="button"
      role="menuitem"
      className={styles.item}
      data-danger={item.isDanger || undefined}
      onClick={(event) => {
        event.stopPropagation();
        onChoose();
        item.act();
      }}
    >
      {item.label}
    </button>
  );
}

const GAP_PX = 4;
const MOVES: Record<string, number> = {
  ArrowDown: 1,
  ArrowUp: -1,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** Under its button where there is room, its right edge at the button's. */
function place(menu: HTMLElement, { bottom, top, right }: DOMRect): void {
  const { offsetWidth, offsetHeight } = menu;
  const hasRoomBelow = bottom + GAP_PX + offsetHeight < innerHeight;
  menu.style.left = `${Math.max(GAP_PX, right - offsetWidth)}px`;
  menu.style.top = `${hasRoomBelow ? bottom + GAP_PX : top - GAP_PX - offsetHeight}px`;
}

function moveFocus(list: HTMLElement | null, by: number): void {
  const items = [...(list?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const now = items.indexOf(document.activeElement as HTMLElement);
  const next = Math.min(items.length - 1, Math.max(0, now + by));
  items[next]?.focus();
}
