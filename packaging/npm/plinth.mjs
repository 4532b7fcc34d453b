#!/usr/bin/env node
// Starts the program of the package for this platform; everything else is the program's own.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";

const name = `@plinth/${process.platform}-${process.arch}`;
let root;
try {
  root = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
} catch {
  console.error(`plinth: there is no package ${name}; Plinth runs on Linux x64 so far.`);
  process.exit(1);
}

// The runtime's packages are bundled with the platform's package.
const env = { PLINTH_RUNTIME_DIR: root, ...process.env };
const child = spawn(join(root, "bin/plinth"), process.argv.slice(2), { stdio: "inherit", env });
// A terminal sends Ctrl-C to both; the child decides when it is done.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`plinth: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
