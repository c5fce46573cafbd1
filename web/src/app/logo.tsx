/** The mark: a batch size that moves. */
export function Logo() {
  return (
    <svg
      width="20"
      height="20"
      viewBox="0 0 20 20"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="2.25"
      strokeLinejoin="round"
      strokeLinecap="round"
    >
      <path d="M1.5 14.5H5V9.5h4V4.5h4v6h3v4h2.5" />
    </svg>
  );
}
