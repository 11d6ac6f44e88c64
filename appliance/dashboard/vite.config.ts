// SPDX-License-Identifier: BSD-3-Clause
// Fixed names and relative addresses: the box makes ETags itself, and a replay puts the same three
// files into a single page.
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
  test: { environment: "happy-dom", include: ["source/**/*_test.{ts,tsx}"] },
});
