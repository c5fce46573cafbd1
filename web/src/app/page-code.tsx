/** A page under the tabs of a run while its own scripts load: bars on a surface, as its panels will be. */
import { type ReactNode, Suspense } from "react";
import { Blank } from "@/components/blank";
import { LoadingBars } from "@/components/loading-bars";

const ROWS = 8;

export function PageCode({ children }: { children: ReactNode }) {
  return (
    <Suspense
      fallback={
        <Blank>
          <LoadingBars rows={ROWS} />
        </Blank>
      }
    >
      {children}
    </Suspense>
  );
}
