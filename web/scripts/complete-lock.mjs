// Completes package-lock.json after `npm install`: node scripts/complete-lock.mjs
//
// Build tools come as one optional package per platform. Where npm cannot ask for all of them, behind a
// mirror that has only some, it leaves the others out, and `npm ci` then refuses the file everywhere.
// Their names and versions are known from the packages that want them, so they are written down here;
// npm finds their checksums when it installs one.

import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));

const systems = /android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32|aix/;
const processors = /arm64|x64|ia32|arm|ppc64|s390x|riscv64|loong64|mips64el|wasm32/;

for (const [place, wanting] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(wanting.optionalDependencies ?? {})) {
    const isLocked = [`node_modules/${name}`, `${place}/node_modules/${name}`].some(
      (path) => lock.packages[path],
    );
    if (isLocked) continue;
    lock.packages[`node_modules/${name}`] = entry(name, version, wanting);
    console.log(`added ${name} ${version}`);
  }
}

function entry(name, version, { dev, license }) {
  const os = systems.exec(name)?.[0];
  const cpu = processors.exec(name)?.[0];
  const libc = os === "linux" && /gnu|musl/.exec(name)?.[0];
  return {
    version,
    ...(cpu && { cpu: [cpu] }),
    ...(dev && { dev }),
    ...(libc && { libc: [libc === "gnu" ? "glibc" : "musl"] }),
    license,
    optional: true,
    ...(os && { os: [os] }),
  };
}

const inOrder = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
lock.packages = Object.fromEntries(inOrder);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
