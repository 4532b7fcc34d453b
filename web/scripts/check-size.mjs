// Fails when a guest would load more JavaScript than agreed: 120 kB in brotli (client contract U24).
//
// Counted is everything that the entry imports, directly or not, and every chunk of a guest page.

import { readFile } from "node:fs/promises";

import { brotli } from "./precompress.mjs";

const limit = 120_000;
const dist = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(await readFile(new URL("manifest.json", dist), "utf8"));

const guestChunks = Object.keys(manifest).filter(
  (name) => manifest[name].isEntry || /src\/account\/routes\/guest/.test(name),
);
const files = new Set();
guestChunks.forEach(collect);

function collect(name) {
  const chunk = manifest[name];
  if (files.has(chunk.file)) return;
  files.add(chunk.file);
  chunk.imports?.forEach(collect);
}

let total = 0;
for (const file of [...files].filter((name) => name.endsWith(".js"))) {
  const { length } = await brotli(await readFile(new URL(file, dist)));
  total += length;
  console.log(`${String(length).padStart(8)}  ${file}`);
}
console.log(`${String(total).padStart(8)}  JavaScript of the guest pages in brotli (limit ${limit})`);
if (total > limit) {
  console.error("The guest pages are too large. `npx vite-bundle-visualizer` shows what is in them.");
  process.exit(1);
}
