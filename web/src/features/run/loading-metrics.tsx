/** In the place of the first row of metrics while nobody knows which there are: panels of their final size. */
import { Icon } from "@/components/icon";
import { LoadingBars } from "@/components/loading-bars";
import gridStyles from "./metric-grid.module.css";
import panelStyles from "./metric-panel.module.css";

const PANELS = ["first", "second", "third", "fourth"];
const ROWS = 4;
const ROW_PX = 42;

/** The chart above says when it takes long. */
export function LoadingMetrics() {
  return (
    <div className={gridStyles.group}>
      <div className={gridStyles.head}>
        <h2>
          <Icon name="pin" />
          Pinned
        </h2>
      </div>
      <div className={gridStyles.grid}>
        {PANELS.map((name) => (
          <div key={name} className={panelStyles.panel}>
            <LoadingBars rows={ROWS} rowHeight={ROW_PX} hasWords={false} />
          </div>
        ))}
      </div>
    </div>
  );
}
