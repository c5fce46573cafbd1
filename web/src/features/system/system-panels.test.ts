import { expect, test } from "vitest";
import type { SystemHistory, SystemSeries } from "@/api/types";
import { systemPanels, trackSeries } from "./system-panels";
import { parseSystemSearch } from "./system-search";

function series(figure: SystemSeries["figure"], of: string | null, mean: (number | null)[]): SystemSeries {
  return { figure, of, mean, max: mean };
}

const HISTORY: SystemHistory = {
  at: [100, 105, 110, 200],
  series: [
    series("memory_bytes", null, [1024 ** 3, 1024 ** 3, 1024 ** 3, 2 * 1024 ** 3]),
    series("cpu_frac", null, [0.2, 0.4, null, 0.5]),
    series("process_cpu_cores", "driver", [0.1, 0.1, 0.1, 0.1]),
    series("gpu_utilization_frac", "gpu 0", [null, null, null, null]),
  ],
  total: 4,
  sampled: false,
  first_at: null,
  last_at: null,
  num_cpus: 2,
  memory_total_bytes: 24 * 1024 ** 3,
  gpu_memory_total_bytes: {},
};

test("panels stand in their order, and only for what was measured", () => {
  const panels = systemPanels(HISTORY);
  expect(panels.map(({ title, bound }) => `${title} ${bound}`.trim().replaceAll("\u00a0", " "))).toEqual([
    "CPU of 2 cores",
    "Memory of 24.0 GiB",
    "CPU by process in cores",
  ]);
  expect(panels[0]?.format(0.25)).toBe("25.0%");
});

test("of many processes the busiest are drawn, and the others are counted", () => {
  const many = Array.from({ length: 12 }, (_, i) => series("process_cpu_cores", `rank ${i}`, [i]));
  const [panel] = systemPanels({ ...HISTORY, at: [100], series: many });
  expect(panel?.lines.map(({ of }) => of)).toEqual([4, 5, 6, 7, 8, 9, 10, 11].map((i) => `rank ${i}`));
  expect(panel?.numHidden).toBe(4);
});

test("a time without samples is a gap, not a line", () => {
  const track = trackSeries(HISTORY, HISTORY.series[0] as SystemSeries);
  expect(track.x).toEqual([100, 105, 110, 155, 200]);
  expect(track.value[3]).toBeNull();
});

test.each<[Record<string, unknown>, object]>([
  [
    { from: 1, to: 2 },
    { from: 1, to: 2 },
  ],
  [{ from: 2, to: 1 }, {}],
  [{ from: 2 }, {}],
])("the address %o zooms to %o", (raw, search) => {
  expect(parseSystemSearch(raw)).toEqual(search);
});
