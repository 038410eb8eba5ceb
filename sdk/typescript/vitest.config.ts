import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { globalSetup: "test/server.ts", testTimeout: 120_000, hookTimeout: 120_000 },
});
