// Fails when a guest would load more JavaScript than agreed: 120 kB in brotli (client contract U24).

import { readFile } from "node:fs/promises";

import { guestFiles } from "./guest-files.mjs";
import { brotli } from "./precompress.mjs";

const limit = 120_000;
const dist = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(await readFile(new URL("manifest.json", dist), "utf8"));

let total = 0;
for (const file of guestFiles(manifest)) {
  const { length } = await brotli(await readFile(new URL(file, dist)));
  total += length;
  console.log(`${String(length).padStart(8)}  ${file}`);
}
console.log(`${String(total).padStart(8)}  JavaScript of the guest pages in brotli (limit ${limit})`);
if (total > limit) {
  console.error("The guest pages are too large. `npx vite-bundle-visualizer` shows what is in them.");
  process.exit(1);
}
