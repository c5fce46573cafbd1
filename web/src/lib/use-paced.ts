import { useEffect, useRef, useState } from "react";

/** A value that may change many times a second, at a pace that can be read; while it is held it stays as it is. */
export function usePaced<Value>(value: Value, paceMs: number, isHeld: boolean): Value {
  const [shown, setShown] = useState(value);
  const changedAt = useRef(0);
  useEffect(() => {
    if (isHeld || value === shown) return;
    const wait = Math.max(0, changedAt.current + paceMs - Date.now());
    const timer = setTimeout(() => {
      changedAt.current = Date.now();
      setShown(value);
    }, wait);
    return () => clearTimeout(timer);
  }, [value, shown, paceMs, isHeld]);
  return shown;
}
