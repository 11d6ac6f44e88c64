// SPDX-License-Identifier: BSD-3-Clause
// File names are fixed and URLs relative: the appliance generates ETags, and a replay embeds the same
// three files into a single page.
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        assetFileNames: "app[extname]",
        inlineDynamicImports: true,
      },
    },
  },
  // Without isolation, the test files share their environments, which take most of the time.
  test: { environment: "happy-dom", include: ["source/**/*_test.{ts,tsx}"], isolate: false },
});
