// Completes package-lock.json after `npm install`: node scripts/complete-lock.mjs
//
// Build tools ship one optional package per platform. Behind a registry mirror that has only some of them,
// npm omits the others, and `npm ci` then rejects the lock file everywhere. Names and versions are known from
// `optionalDependencies`, so the missing entries are added here; npm adds checksums when it installs them.

import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));

const systems = /android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32|aix/;
const processors = /arm64|x64|ia32|arm|ppc64|s390x|riscv64|loong64|mips64el|wasm32/;

for (const [path, dependent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(dependent.optionalDependencies ?? {})) {
    const isLocked = [`node_modules/${name}`, `${path}/node_modules/${name}`].some(
      (candidate) => lock.packages[candidate],
    );
    if (isLocked) continue;
    lock.packages[`node_modules/${name}`] = lockEntry(name, version, dependent);
    console.log(`added ${name} ${version}`);
  }
}

function lockEntry(name, version, { dev, license }) {
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

const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
lock.packages = Object.fromEntries(sorted);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
