/** Long text from outside under a word that opens it: it does not push away what stands around it. */
import type { ToggleEvent } from "react";
import { classNames } from "@/lib/class-names";
import styles from "./folded-text.module.css";
import { ForeignText } from "./foreign-text";

export interface FoldedTextProps {
  label: string;
  text: string;
  className?: string | undefined;
  /** It opens at its end: what a process did last, and the error of a traceback, stand there. */
  opensAtEnd?: boolean;
}

export function FoldedText({ label, text, className, opensAtEnd = false }: FoldedTextProps) {
  return (
    <details className={classNames(styles.folded, className)} onToggle={opensAtEnd ? showEnd : undefined}>
      <summary>{label}</summary>
      <ForeignText text={text} />
    </details>
  );
}

function showEnd({ currentTarget }: ToggleEvent<HTMLDetailsElement>) {
  const text = currentTarget.querySelector("pre");
  if (text) text.scrollTop = text.scrollHeight;
}
