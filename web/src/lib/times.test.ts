import { expect, test } from "vitest";
import { formatAgo, formatClock, formatDate, formatIso, formatMoment } from "./times";

const NOW = new Date("2026-11-12T14:32:08+01:00");

function before(hours: number): Date {
  return new Date(NOW.getTime() - hours * 3_600_000);
}

test("a moment is as short as it can be", () => {
  expect(formatClock(NOW)).toBe("14:32:08");
  expect(formatMoment(new Date("2026-11-12T09:05:01+01:00"), NOW)).toBe("09:05:01");
  expect(formatMoment(new Date("2026-11-10T18:40:59+01:00"), NOW)).toBe("10 Nov 18:40");
  expect(formatMoment(new Date("2025-11-12T14:32:08+01:00"), NOW)).toBe("12 Nov 2025");
  expect(formatDate(new Date("2026-11-10T18:40:00+01:00"), NOW)).toBe("10 Nov");
});

test.each([
  [0, "0 s ago"],
  [0.1, "6 min ago"],
  [17.1, "17 h ago"],
  [23.99, "23 h ago"],
  [25, "yesterday"],
  [38.4, "yesterday"],
  [39, "10 Nov"],
  [24 * 400, "8 Oct 2025"],
])("%d h before is %s", (hours, text) => {
  expect(formatAgo(before(hours), NOW).replaceAll("\u00a0", " ")).toBe(text);
});

test("a clock of the server that runs ahead is no negative age", () => {
  expect(formatAgo(before(-0.01), NOW).replaceAll("\u00a0", " ")).toBe("0 s ago");
});

test("hovering tells the zone and UTC", () => {
  expect(formatIso(NOW)).toBe("2026-11-12T14:32:08+01:00 · 2026-11-12T13:32:08Z");
});
