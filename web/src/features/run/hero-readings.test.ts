import { expect, test } from "vitest";
import { MetricTrack, type TrackSeries } from "@/components/chart/metric-track";
import { type HeroTracks, heroReadings } from "./hero-readings";

function track(
  name: string,
  value: number,
  bucket: { min: number; max: number } | null = null,
  step = 1118,
): MetricTrack {
  const made = new MetricTrack(name);
  const one: TrackSeries = {
    attempt: 2,
    superseded: false,
    total: bucket ? 2 : 1,
    sampled: bucket !== null,
    x: [step],
    step: [step],
    last_step: [bucket ? step + 1 : step],
    value: [value],
    min: bucket && [bucket.min],
    max: bucket && [bucket.max],
    non_finite: [],
  };
  made.setHistory([one]);
  return made;
}

function tracks(given: Partial<HeroTracks> = {}): HeroTracks {
  return {
    batch: track("global_batch_size", 136),
    loss: track("train/loss", 0.0214),
    microBatches: track("num_microbatches", 6),
    dummies: track("num_dummies", 6),
    idle: track("measured_idle_frac", 0.26),
    idleBound: track("idle_bound_frac", 0.256),
    lr: track("train/lr", 2.87e-7),
    ...given,
  };
}

test("one step, as the tooltip writes it", () => {
  expect(heroReadings(tracks(), 1118)).toEqual({
    step: 1118,
    title: "Step 1,118",
    attempt: 2,
    loss: "0.0214",
    batch: "136",
    microBatches: "6",
    dummies: "6\u00a0dummies",
    idle: "26.0%",
    idleBound: "bound 25.6%",
    lr: "2.87e−7",
  });
});

test("in a bucket each value is its mean with the extremes", () => {
  const readings = heroReadings(
    tracks({ batch: track("global_batch_size", 140.5, { min: 136, max: 145 }) }),
    1118,
  );
  expect(readings?.title).toBe("Steps 1,118 to 1,119");
  expect(readings?.batch).toBe("141 (136 to 145)");
  const narrow = heroReadings(
    tracks({ batch: track("global_batch_size", 140.5, { min: 136, max: 145 }) }),
    1118,
    true,
  );
  expect(narrow?.batch).toBe("141");
});

test("what was not measured at the step has no value, nor has a run without steps", () => {
  const other = heroReadings(
    tracks({ loss: track("train/loss", 0.5, null, 1110), dummies: track("num_dummies", 0) }),
    1118,
  );
  expect([other?.loss, other?.dummies]).toEqual(["–", null]);
  expect(heroReadings(tracks({ batch: new MetricTrack("global_batch_size") }), null)).toBeNull();
});
