import { expect, test, vi } from "vitest";
import { announce, announcement, takeAction } from "./announcements";

test("what can be taken back stays twice as long and is done once", () => {
  vi.useFakeTimers();
  const undo = vi.fn();
  announce("Caught up");
  vi.advanceTimersByTime(4000);
  expect([announcement(), takeAction()]).toEqual([null, false]);
  announce("Run deleted", { label: "Undo", act: undo });
  vi.advanceTimersByTime(7999);
  expect(announcement()?.text).toBe("Run deleted");
  expect([takeAction(), takeAction()]).toEqual([true, false]);
  expect(undo).toHaveBeenCalledTimes(1);
  vi.useRealTimers();
});

test("nothing can be taken back once the time is over", () => {
  vi.useFakeTimers();
  const undo = vi.fn();
  announce("Run deleted", { label: "Undo", act: undo });
  vi.advanceTimersByTime(8000);
  expect(takeAction()).toBe(false);
  expect(undo).not.toHaveBeenCalled();
  vi.useRealTimers();
});
