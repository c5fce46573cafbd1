/** Long text from outside: as text only, isolated, wrapped anywhere, cut until somebody asks for all of it. */
import { useState } from "react";
import { cutText } from "@/lib/texts";
import { Button } from "./button";
import styles from "./foreign-text.module.css";

export function ForeignText({ text }: { text: string }) {
  const [showsAll, setShowsAll] = useState(false);
  const { shown, isCut } = cutText(text);
  return (
    <>
      <pre className={styles.text} dir="auto">
        {showsAll ? text : shown}
      </pre>
      {isCut && !showsAll && <Button onClick={() => setShowsAll(true)}>Show all</Button>}
    </>
  );
}
