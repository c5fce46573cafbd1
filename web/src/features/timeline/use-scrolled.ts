/** How far the lanes are scrolled, and how much of them is seen. */
import { type RefObject, useLayoutEffect, useState } from "react";

export function useScrolled(scroller: RefObject<HTMLDivElement | null>) {
  const [view, setView] = useState({ scrollTop: 0, height: 600 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const update = () => setView({ scrollTop: element.scrollTop, height: element.clientHeight });
    const sizes = new ResizeObserver(update);
    sizes.observe(element);
    update();
    return () => sizes.disconnect();
  }, [scroller]);
  const onScroll = () => {
    const element = scroller.current;
    if (element) setView({ scrollTop: element.scrollTop, height: element.clientHeight });
  };
  return { ...view, onScroll };
}
