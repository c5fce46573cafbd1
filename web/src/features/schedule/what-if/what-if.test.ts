import { expect, test } from "vitest";
import type { WhatIf } from "@/api/types";
import { schedule } from "../factories";
import {
  assumptionText,
  axisChoices,
  capStops,
  changesOf,
  geometryOf,
  geometryText,
  nearestStop,
  ranksText,
  scaleText,
} from "./choices";
import { deltaSentence, deltasOf } from "./deltas";
import { lanesOfBoth } from "./lanes";

const STEP = schedule([[[60, 20]], [[40]]]);
const RAN = geometryOf(STEP);

function answer(given: Partial<WhatIf> = {}): WhatIf {
  const figures = {
    num_microbatches: 1,
    num_dummies: 0,
    num_over_cap: 0,
    max_micro_batch_tokens: 80,
    predicted_idle_frac: 0.25,
    idle_bound_frac: 0.1,
    makespan: 80,
    predicted_s: 0.08,
  };
  return {
    ran: RAN,
    asked: { ...RAN, dp: 1 },
    micro_batches: [[[0], [1, 2]]],
    predicted_cost: [[60, 60]],
    ran_figures: figures,
    ran_measured: { makespan_s: 0.11, idle_frac: 0.45 },
    asked_figures: { ...figures, num_microbatches: 2, makespan: 120, predicted_s: 0.12 },
    change: {
      num_microbatches: 1,
      num_dummies: 0,
      num_over_cap: 0,
      max_micro_batch_tokens: 0,
      predicted_idle_frac: 0,
      idle_bound_frac: 0,
      makespan_frac: 0.5,
      predicted_s: 0.04,
    },
    certificate_sha256: STEP.certificate_sha256,
    ...given,
  };
}

test("what ran is no change", () => {
  expect(changesOf(RAN, { dp: 2, token_cap: 100, balance: "cost" })).toEqual({});
  expect(changesOf(RAN, { dp: 4, balance: "tokens" })).toEqual({ dp: 4, balance: "tokens" });
});

test("the cap is that of one context-parallel rank", () => {
  const geometry = geometryOf(schedule([[[5]]], { cp: 2, token_cap: 200 }));
  expect(geometry.token_cap).toBe(100);
  expect(geometryText(geometry)).toBe("dp 1, cp 2, cap 2 × 100");
});

test("sizes around what ran, and one that was typed", () => {
  expect(axisChoices(8, 8)).toEqual([2, 4, 8, 16, 32]);
  expect(axisChoices(1, 4)).toEqual([1, 2, 4, 8, 16]);
  expect(axisChoices(8, 5)).toContain(5);
  expect(axisChoices(8, 5)).toContain(8);
});

test("caps go by half octaves, through what ran", () => {
  const stops = capStops(8192);
  expect([stops[0], stops[stops.length - 1]]).toEqual([512, 131_072]);
  expect(stops[nearestStop(stops, 8192)]).toBe(8192);
  expect(stops[nearestStop(stops, 8000)]).toBe(8192);
  expect(new Set(capStops(3)).size).toBe(capStops(3).length);
});

test("both schedules share an axis that the longer one fills", () => {
  const { ran, asked } = lanesOfBoth(STEP, answer());
  expect(ran.end).toBeCloseTo(80 / 120);
  expect(asked?.end).toBe(1);
  expect(ran.ranks.map((boxes) => boxes.map(({ left, width }) => [left, width]))).toEqual([
    [[0, 80 / 120]],
    [[0, 40 / 120]],
  ]);
  expect(asked?.ranks[0]?.map(({ left }) => left)).toEqual([0, 0.5]);
});

test("a pipeline's stage has its part of each micro-batch", () => {
  const { asked } = lanesOfBoth(STEP, answer({ asked: { ...RAN, dp: 1, pp: 2 } }));
  expect(asked?.ranks[0]?.[0]?.width).toBeCloseTo(30 / 120);
});

test("without an answer what ran stands alone", () => {
  const { ran, asked } = lanesOfBoth(STEP, undefined);
  expect([ran.end, asked]).toEqual([1, null]);
});

test("only time is told as better or worse", () => {
  const deltas = deltasOf(answer(), 1);
  expect(deltas[0]).toEqual({
    label: "Step, estimated",
    is: "120\u00a0ms",
    was: "80\u00a0ms",
    change: { text: "+50.0%", isBetter: false },
    measured: "110\u00a0ms",
  });
  expect(deltas.slice(1).every((delta) => delta.change === undefined)).toBe(true);
  expect(deltaSentence(deltas)).toContain("Micro-batches per rank 2 from 1");
});

test("what was measured stands beside estimates of time, and nothing where nothing was", () => {
  expect(deltaSentence(deltasOf(answer(), 1))).toMatch(
    /^Step, estimated 120\u00a0ms from 80\u00a0ms, \+50.0%, measured 110\u00a0ms; Step × devices, .*; Idle, estimated .*, measured 45.0%; Lower/,
  );
  expect(deltaSentence(deltasOf(answer({ ran_measured: null }), 1))).not.toContain("measured");
});

test("more devices cost what they are: time times their number", () => {
  const devices = (tp: number) => {
    const found = deltasOf(answer({ asked: { ...RAN, dp: 4 } }), tp)[1];
    return [found?.label, found?.is, found?.was];
  };
  expect(devices(1)).toEqual(["Step × devices, estimated", "480\u00a0ms", "160\u00a0ms"]);
  expect(devices(2)).toEqual(["Step × devices, estimated", "960\u00a0ms", "320\u00a0ms"]);
});

test("seconds that are scaled by a disturbed step are not to be trusted", () => {
  expect(scaleText(answer())).toContain("trust the ratio");
  expect(scaleText(answer({ ran_measured: null }))).toBe("");
});

test("ranks of both layouts", () => {
  expect(ranksText(RAN, { ...RAN, dp: 1, cp: 2 }, 1)).toBe("2, as it ran");
  expect(ranksText(RAN, { ...RAN, dp: 4 }, 2)).toBe("8 instead of 4");
});

test("another layout tells the devices that it assumes", () => {
  expect(assumptionText(RAN, { ...RAN, dp: 4 }, 1)).toBe(
    "dp 4, cp 1 assumes 2\u00a0more devices, equal to those that ran; communication is not counted.",
  );
  expect(assumptionText(RAN, { ...RAN, dp: 1 }, 1)).toContain("1\u00a0fewer device,");
  expect(assumptionText(RAN, { ...RAN, dp: 4 }, 2)).toContain("4\u00a0more devices");
  expect(assumptionText(RAN, { ...RAN, balance: "tokens" }, 1)).toContain("takes all devices as equal");
});

test("a step that was cut by a count is asked for no packer", () => {
  const counted = { ...RAN, token_cap: null, micro_batch_size: 2 };
  expect(changesOf(counted, { packer: "first_fit", dp: 3 })).toEqual({ dp: 3 });
});
