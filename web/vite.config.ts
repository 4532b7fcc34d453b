import { fileURLToPath } from "node:url";

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

import { noScriptTexts, preloads } from "./scripts/page-parts.mjs";
import { precompress } from "./scripts/precompress.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  // One build serves any mount path: scripts resolve each other relative to themselves, and the server
  // rewrites the asset URLs in the page (see README.md).
  base: "./",
  plugins: [react(), tailwindcss(), noScriptTexts(), preloads(), precompress()],
  resolve: {
    alias: {
      // Only the auth client is used; the full client adds 26 kB (see the module).
      "@supabase/supabase-js": here("./src/lib/supabase-js.ts"),
    },
  },
  build: {
    target: "es2022",
    // No inline scripts: the Content-Security-Policy forbids them.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    manifest: "manifest.json",
  },
  test: {
    setupFiles: ["./src/texts/load-english.ts"],
  },
  server: {
    port: 5173,
    strictPort: true,
  },
});
