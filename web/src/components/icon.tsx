/** Line icons on a 16-px grid. Decoration: the control that holds one has the name. */
import type { ReactNode } from "react";

const PATHS = {
  search: (
    <>
      <circle cx="7" cy="7" r="4.25" />
      <path d="M10.2 10.2 13.5 13.5" />
    </>
  ),
  plus: <path d="M8 3.25v9.5M3.25 8h9.5" />,
  question: (
    <>
      <path d="M5.9 6.1a2.1 2.1 0 1 1 3.1 1.9c-.7.4-1 .8-1 1.5" />
      <path d="M8 12v.01" />
    </>
  ),
  theme: (
    <>
      <circle cx="8" cy="8" r="5.25" />
      <path d="M8 2.75v10.5A5.25 5.25 0 0 0 8 2.75Z" fill="currentColor" />
    </>
  ),
  pause: <path d="M5.75 3.75v8.5M10.25 3.75v8.5" strokeWidth="2" />,
  stop: <rect x="4" y="4" width="8" height="8" rx="1" />,
  clock: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3.2l2 1.3" />
    </>
  ),
  warning: (
    <>
      <path d="M8 2.5 14 13H2Z" />
      <path d="M8 6.5v3M8 11.3v.01" />
    </>
  ),
  cross: <path d="m4.5 4.5 7 7M11.5 4.5l-7 7" />,
  tick: <path d="m3.5 8.5 3 3 6-7" />,
  left: <path d="M9.75 4 5.75 8l4 4" />,
  right: <path d="M6.25 4l4 4-4 4" />,
  down: <path d="M4 6.25l4 4 4-4" />,
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M3.5 10.5h-1v-8h8v1" />
    </>
  ),
  download: <path d="M8 2.75v7M5 7l3 3 3-3M3.25 13.25h9.5" />,
  menu: <path d="M2.75 4.5h10.5M2.75 8h10.5M2.75 11.5h10.5" />,
  more: <path d="M3.5 8v.01M8 8v.01M12.5 8v.01" strokeWidth="2" />,
  undo: <path d="M5.5 4 3 6.5 5.5 9M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6" />,
  retry: (
    <>
      <path d="M13 8a5 5 0 1 1-1.5-3.6" />
      <path d="M13 2.5v2.75h-2.75" />
    </>
  ),
  archive: (
    <>
      <rect x="2.5" y="3" width="11" height="3" rx="1" />
      <path d="M3.5 6v6a1 1 0 0 0 1 1h7a1 1 0 0 0 1-1V6M6.5 8.75h3" />
    </>
  ),
  trash: (
    <path d="M3 4.5h10M6.5 4.5v-1a1 1 0 0 1 1-1h1a1 1 0 0 1 1 1v1M4.25 4.5l.5 8a1 1 0 0 0 1 1h4.5a1 1 0 0 0 1-1l.5-8" />
  ),
  play: <path d="M5 3.5v9l7.5-4.5Z" />,
  table: (
    <>
      <rect x="2.5" y="3" width="11" height="10" rx="1.5" />
      <path d="M2.5 6.5h11M6.5 6.5V13" />
    </>
  ),
  pin: (
    <>
      <path d="M6 2.5h4l-.5 4 2 2.5h-7l2-2.5Z" />
      <path d="M8 9v4.5" />
    </>
  ),
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      {PATHS[name]}
    </svg>
  );
}
