// Words of the page itself, which are there before any script runs: `{{name}}` in index.html.

import { fileURLToPath } from "node:url";

import { runnerImport } from "vite";

const catalogue = fileURLToPath(new URL("../src/texts/index.ts", import.meta.url));

/** A Vite plugin: writes the language of the catalogue and its words for the page into the page. */
export function pageTexts() {
  return {
    name: "plinth:page-texts",
    transformIndexHtml: {
      order: "pre",
      async handler(html) {
        const { module } = await runnerImport(catalogue, { configFile: false });
        const { language, page } = module;
        const words = { lang: language.tag, dir: language.dir, ...page };
        return html.replace(/\{\{(\w+)\}\}/g, (_, name) => escape(words[name]));
      },
    },
  };
}

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
