/** Mounts its children when they come near the screen, and keeps them. Until then a place of the same height. */
import { type ReactNode, useEffect, useRef, useState } from "react";

const NEAR_PX = 300;

export function WhenNear({ className, children }: { className?: string | undefined; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const [wasNear, setWasNear] = useState(false);
  useEffect(() => {
    if (wasNear || !place.current) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setWasNear(true), {
      rootMargin: `${NEAR_PX}px`,
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [wasNear]);
  return wasNear ? children : <div ref={place} className={className} />;
}
