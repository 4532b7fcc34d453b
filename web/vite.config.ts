import { fileURLToPath } from "node:url";

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

import { consoleFallback } from "./scripts/console-fallback.mjs";
import { noScriptTexts, preloads } from "./scripts/page-parts.mjs";
import { precompress } from "./scripts/precompress.mjs";
import { themeScript } from "./scripts/theme-script.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig(({ command }) => ({
  // One build serves any mount path: scripts resolve each other relative to themselves, and the server
  // rewrites the asset URLs in the page (see README.md).
  base: "./",
  plugins: [
    react(),
    tailwindcss(),
    noScriptTexts(),
    preloads(),
    themeScript(),
    consoleFallback(),
    precompress(),
  ],
  define: {
    // Sample data for screenshots of the console, in the development server only.
    __PLINTH_SAMPLE__: command === "serve" && process.env["PLINTH_SAMPLE"] === "1",
  },
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
    rollupOptions: { input: [here("./index.html"), here("./console.html")] },
  },
  test: {
    setupFiles: ["./src/visitor/texts/load-english.ts", "./src/testing/setup.ts"],
    // The alias above also applies inside this package.
    server: { deps: { inline: ["@supabase/ssr"] } },
    // Generous: the machine may be busy with other builds.
    hookTimeout: 120_000,
    testTimeout: 120_000,
  },
  server: {
    port: 5173,
    strictPort: true,
  },
}));
