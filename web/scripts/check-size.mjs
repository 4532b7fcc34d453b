// Fails if the guest bundle exceeds 120 kB of JavaScript in brotli (client contract U24).

import { readFile } from "node:fs/promises";

import { guestFiles, languages } from "./guest-files.mjs";
import { brotli } from "./precompress.mjs";

const limit = 120_000;
const dist = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(await readFile(new URL("manifest.json", dist), "utf8"));

let largest = 0;
for (const language of languages(manifest)) {
  let total = 0;
  for (const file of guestFiles(manifest, language)) {
    const { length } = await brotli(await readFile(new URL(file, dist)));
    total += length;
    console.log(`${String(length).padStart(8)}  ${file}`);
  }
  console.log(`${String(total).padStart(8)}  JavaScript of the guest pages (${language}) in brotli`);
  largest = Math.max(largest, total);
}
if (largest > limit) {
  console.error(
    `The guest pages are larger than ${limit} bytes. \`npx vite-bundle-visualizer\` shows what is in them.`,
  );
  process.exit(1);
}
