/** Pages whose code is loaded when they are opened; what the list, the overview and the schedule need comes first. */
import { lazy } from "react";

export const NewRunPage = lazy(async () => {
  const { NewRunPage: page } = await import("@/features/new-run/new-run-page");
  return { default: page };
});

export const ConfigPage = lazy(async () => {
  const { ConfigPage: page } = await import("@/features/config/config-page");
  return { default: page };
});

export const EventsPage = lazy(async () => {
  const { EventsPage: page } = await import("@/features/events/events-page");
  return { default: page };
});

export const ComparePage = lazy(async () => {
  const { ComparePage: page } = await import("@/features/compare/compare-page");
  return { default: page };
});

export const TimelinePage = lazy(async () => {
  const { TimelinePage: page } = await import("@/features/timeline/timeline-page");
  return { default: page };
});

export const RolloutsPage = lazy(async () => {
  const { RolloutsPage: page } = await import("@/features/rollouts/rollouts-page");
  return { default: page };
});

export const LogsPage = lazy(async () => {
  const { LogsPage: page } = await import("@/features/logs/logs-page");
  return { default: page };
});

export const CheckpointsPage = lazy(async () => {
  const { CheckpointsPage: page } = await import("@/features/checkpoints/checkpoints-page");
  return { default: page };
});

export const LedgerPage = lazy(async () => {
  const { LedgerPage: page } = await import("@/features/ledger/ledger-page");
  return { default: page };
});

export const SystemPage = lazy(async () => {
  const { SystemPage: page } = await import("@/features/system/system-page");
  return { default: page };
});
