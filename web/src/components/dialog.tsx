/** A modal dialog by the browser's own means: focus stays inside, Esc closes, the page behind is inert. */
import { type ReactNode, useEffect, useId, useRef } from "react";
import styles from "./dialog.module.css";

export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Buttons, the safe one first: it has the focus when the dialog opens. */
  actions?: ReactNode;
}

/** Open as long as it is mounted. */
export function Dialog({ title, onClose, children, actions }: DialogProps) {
  const id = useId();
  const ref = useRef<HTMLDialogElement>(null);
  const actionsRef = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    actionsRef.current?.querySelector("button")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc is the dialog's own
    <dialog
      ref={ref}
      className={styles.dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        // Only a click on the scrim has the dialog itself as its target.
        if (event.target === ref.current) onClose();
      }}
    >
      <div className={styles.body}>
        <h2 id={id} className={styles.title} dir="auto">
          {title}
        </h2>
        {children}
        {actions && (
          <div ref={actionsRef} className={styles.actions}>
            {actions}
          </div>
        )}
      </div>
    </dialog>
  );
}
