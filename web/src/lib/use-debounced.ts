import { useEffect, useState } from "react";

/** The value as it was once nothing changed for a moment; for what is asked of the server while somebody types. */
export function useDebounced<Value>(value: Value, delayMs = 150): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return settled;
}
