/** The colours of activities on a canvas, mixed for the theme, with an ink that can be read on each. */
import type { Activity } from "@/api/types";
import { onThemeChange } from "@/components/chart/theme";
import { ACTIVITIES, LOOKS } from "./activities";

export interface TimelineTheme {
  fill: Record<Activity, string>;
  ink: Record<Activity, string>;
  surface: string;
  line: string;
  grid: string;
  hatch: string;
  focus: string;
  font: string;
}

/** Share of the full colour: large boxes in full colour are loud, and much less is no ground for white letters. */
const STRENGTH = 0.95;

/** The same colour for parts that are no canvas. */
export function fillOf(activity: Activity): string {
  return `color-mix(in srgb, var(--${LOOKS[activity].token}) ${STRENGTH * 100}%, var(--surface))`;
}

let current: TimelineTheme | null = null;
let isWatching = false;

export function timelineTheme(): TimelineTheme {
  if (!isWatching) {
    isWatching = true;
    onThemeChange(() => {
      current = null;
    });
  }
  current ??= read();
  return current;
}

function read(): TimelineTheme {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const surface = token("surface");
  const fills = ACTIVITIES.map((one) => [one, mixed(token(LOOKS[one].token), surface, STRENGTH)] as const);
  const fill = Object.fromEntries(fills) as Record<Activity, string>;
  const inks = fills.map(([one, colour]) => [one, inkOn(colour)] as const);
  return {
    fill,
    ink: Object.fromEntries(inks) as Record<Activity, string>,
    surface,
    line: token("line"),
    grid: token("grid"),
    hatch: token("hatch"),
    focus: token("focus"),
    font: token("font-sans"),
  };
}

type Rgb = [number, number, number];

/** Builds shorten #FFFFFF to #FFF. */
function rgbOf(hex: string): Rgb {
  const digits = hex.slice(1);
  const full = digits.length === 3 ? [...digits].map((digit) => digit + digit).join("") : digits;
  const value = Number.parseInt(full, 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** `share` of the first of two colours . */
export function mixed(first: string, second: string, share: number): string {
  const [a, b] = [rgbOf(first), rgbOf(second)];
  const bytes = a.map((value, i) => Math.round(value * share + (b[i] ?? 0) * (1 - share)));
  return `#${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Near-black or white, whichever has more contrast with a colour (#RRGGBB). */
export function inkOn(hex: string): string {
  const [r, g, b] = rgbOf(hex).map((byte) => {
    const share = byte / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.056 ? "#ffffff" : "#0a1118";
}
