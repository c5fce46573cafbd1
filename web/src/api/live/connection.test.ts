import { expect, test } from "vitest";
import { connectionAt } from "./connection";
import type { StreamStatus } from "./messages";

const BROKEN: StreamStatus = {
  type: "status",
  isOpen: false,
  since: 100_000,
  retryAt: 113_400,
  unbrokenSince: 1,
};

test("a break of two seconds is not worth a word", () => {
  expect(connectionAt(BROKEN, 102_000)).toEqual({ kind: "live" });
});

test("then it is reconnecting, then stale since the break", () => {
  expect(connectionAt(BROKEN, 102_001)).toEqual({ kind: "reconnecting", retryInS: 12 });
  expect(connectionAt(BROKEN, 110_001)).toEqual({ kind: "stale", since: new Date(100_000), retryInS: 4 });
  expect(connectionAt({ ...BROKEN, retryAt: null }, 110_001)).toMatchObject({ retryInS: null });
});

test("an open stream is live however long it has been so", () => {
  expect(connectionAt({ ...BROKEN, isOpen: true }, 9_000_000)).toEqual({ kind: "live" });
});
