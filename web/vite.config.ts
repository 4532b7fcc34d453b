import { fileURLToPath } from "node:url";

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

import { pageTexts } from "./scripts/page-texts.mjs";
import { precompress } from "./scripts/precompress.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  // One build serves any mount point: scripts find each other relative to themselves, and the
  // server writes the place of the assets into the page (docs in README.md).
  base: "./",
  plugins: [react(), tailwindcss(), pageTexts(), precompress()],
  resolve: {
    alias: {
      // Only accounts are used here; the whole client would be 26 kB more (see the module).
      "@supabase/supabase-js": here("./src/lib/supabase-js.ts"),
    },
  },
  build: {
    target: "es2022",
    // No inline script, so that the policy of the pages can forbid all of them.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    manifest: "manifest.json",
    // Words do nothing by being loaded, so each goes with the pages that say it.
    rolldownOptions: {
      treeshake: { moduleSideEffects: [{ test: /\/src\/texts\//, sideEffects: false }] },
    },
  },
  server: {
    port: 5173,
    strictPort: true,
  },
});
