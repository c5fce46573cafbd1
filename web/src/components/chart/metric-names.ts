/** Metrics that pages know by name: columns that every step has, and what every trainer reports. */
export const BATCH_SIZE = "global_batch_size";
export const LOSS = "train/loss";
export const IDLE = "measured_idle_frac";
export const IDLE_BOUND = "idle_bound_frac";
export const MICRO_BATCHES = "num_microbatches";
export const DUMMIES = "num_dummies";
export const OVER_CAP = "num_over_cap";
export const DROPPED = "num_dropped";
export const LR = "train/lr";
/** Samples from which on a larger batch hardly helps; under `batch: adaptive`. */
export const NOISE_SCALE = "noise/scale";
