// Completes index.html: what each language shows without JavaScript, and preloads of what every page needs.
// A part of one language is on a line of its own, marked by `data-language`; the server sends the lines of
// the visitor's language (crates/platform/src/visitor/language.rs).

import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { runnerImport } from "vite";

const texts = new URL("../src/visitor/texts/", import.meta.url);
const app = "/src/visitor/render.tsx";

/** The folders of the catalogue. */
async function languages() {
  const entries = await readdir(texts, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Vite plugin that inserts the `page` texts of all languages. */
export function noScriptTexts() {
  return {
    name: "plinth:no-script-texts",
    transformIndexHtml: {
      order: "pre",
      async handler(html) {
        const parts = (await languages()).map(async (language) => {
          const file = fileURLToPath(new URL(`${language}/page.ts`, texts));
          const { page } = (await runnerImport(file, { configFile: false })).module;
          const { noScriptTitle: title, noScriptText: text } = page;
          return `<noscript data-language="${language}"><main class="noscript"><h1>${escape(title)}</h1><p>${escape(text)}</p></main></noscript>`;
        });
        const lines = await Promise.all(parts);
        return html.replace("<!-- noscript -->", () => lines.join("\n    "));
      },
    },
  };
}

/** Vite plugin that preloads the app and the texts, which the entry imports one after the other. */
export function preloads() {
  return {
    name: "plinth:preloads",
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle = {}, filename }) {
        if (!filename.endsWith("index.html")) return html;
        const chunks = Object.values(bundle).filter(({ type }) => type === "chunk");
        const link = (chunk, attributes = "") =>
          `<link rel="modulepreload" crossorigin href="./${chunk.fileName}"${attributes}>`;
        const lines = chunks.flatMap((chunk) => {
          const id = chunk.facadeModuleId ?? "";
          const language = /\/src\/visitor\/texts\/(\w+)\/index\.ts$/.exec(id)?.[1];
          if (language) return [link(chunk, ` data-language="${language}"`)];
          return id.endsWith(app) ? [link(chunk)] : [];
        });
        return html.replace("</head>", () => [...lines, "</head>"].join("\n    "));
      },
    },
  };
}

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
