// The theme that the operator has chosen must be known before the first paint, and modules run after it. Inline
// scripts are forbidden by the Content-Security-Policy, so a tiny classic script is loaded instead.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

const source = new URL("../src/platform/theme.js", import.meta.url);
const placeholder = "<!-- theme script -->";

/** Vite plugin that puts `theme.js` in the head of `console.html`, before everything that is painted. */
export function themeScript() {
  let isBuild = false;
  let fileName = "";
  return {
    name: "plinth:theme-script",
    configResolved({ command }) {
      isBuild = command === "build";
    },
    async buildStart() {
      if (!isBuild) return;
      const text = await readFile(source, "utf8");
      const code = text.replace(/^\s*\/\/.*\n/gm, "").replace(/\n\s*/g, " ");
      const hash = createHash("sha256").update(code).digest("hex").slice(0, 8);
      fileName = `assets/theme-${hash}.js`;
      this.emitFile({ type: "asset", fileName, source: code });
    },
    transformIndexHtml: {
      order: "post",
      handler: (html) =>
        html.replace(
          placeholder,
          `<script src="${isBuild ? `./${fileName}` : "/src/platform/theme.js"}"></script>`,
        ),
    },
  };
}
