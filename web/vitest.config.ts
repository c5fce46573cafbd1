import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  test: {
    include: ["src/**/*.test.{ts,tsx}"],
    environment: "node",
    // A fixed zone far from UTC: a time that is printed in the wrong one fails on every machine.
    env: { TZ: "Europe/Berlin" },
  },
});
