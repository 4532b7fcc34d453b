// Runs a command until it exits.

import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/** Resolves to `{ code, stdout, stderr }` whatever the exit code; rejects if it cannot start. */
export async function run(program, args, options = {}) {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}
