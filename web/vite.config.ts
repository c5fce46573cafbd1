import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env.SWELL_URL ?? "http://127.0.0.1:8642";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: { port: 5173, proxy: { "/api": server, "/login": server, "/openapi.json": server } },
  worker: { format: "es" },
  build: {
    // The page's policy forbids inline scripts, which is what the polyfill would be.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    target: "es2022",
    // In kB before compression; the budget counts what a page loads, compressed (`bench/web.py`).
    chunkSizeWarningLimit: 700,
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
