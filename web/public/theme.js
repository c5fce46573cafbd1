// Runs before the first paint, so that a chosen theme never flashes. The rest is in src/lib/theme.ts.
try {
  const theme = localStorage.getItem("swell.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is closed in this browser: the system's theme it is.
}
