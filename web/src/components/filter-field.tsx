/** A field whose text is kept in the address. That comes back late, and not every letter by itself: what is typed stands at
 * once, and the caret stays where it is. */
import { useLayoutEffect, useRef, useState } from "react";
import { TextField, type TextFieldProps } from "./text-field";

export function FilterField({ value, onChange, ...rest }: TextFieldProps) {
  const [text, setText] = useState(value);
  /** What was typed and has not come back. */
  const told = useRef<string[]>([]);
  useLayoutEffect(() => {
    const at = told.current.lastIndexOf(value);
    // Not typed here: it was cleared, or another address was opened.
    if (at === -1) setText(value);
    told.current = at === -1 ? [] : told.current.slice(at + 1);
  }, [value]);
  const type = (next: string) => {
    told.current.push(next);
    setText(next);
    onChange(next);
  };
  return <TextField value={text} onChange={type} {...rest} />;
}
