// Precompresses the built files, so that the server does not compress per request.

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const compressible = /\.(js|css|svg|json|txt)$/;

/** Vite plugin that writes `<file>.br` and `<file>.gz` next to each asset. */
export function precompress() {
  let folder = "dist";
  return {
    name: "plinth:precompress",
    apply: "build",
    configResolved(config) {
      folder = config.build.outDir;
    },
    async closeBundle() {
      const assets = join(folder, "assets");
      const names = await readdir(assets);
      await Promise.all(
        names.filter((name) => compressible.test(name)).map((name) => compress(join(assets, name))),
      );
    },
  };
}

async function compress(file) {
  const bytes = await readFile(file);
  await Promise.all([
    writeFile(`${file}.br`, await brotli(bytes)),
    writeFile(`${file}.gz`, await zip(bytes)),
  ]);
}

/** Also used by the size check. */
export const brotli = (bytes) =>
  promisify(brotliCompress)(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });

const zip = (bytes) => promisify(gzip)(bytes, { level: 9 });
