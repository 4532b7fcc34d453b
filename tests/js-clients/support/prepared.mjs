// The state that a first start leaves in an empty folder, made once per run of all tests and copied.
//
// A first start takes ten times the processor time of a later one, and few tests are about it. All
// copies have the same keys and the same project reference.

import { existsSync } from "node:fs";
import { chmod, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { run } from "./run.mjs";
import { startServer } from "./server.mjs";

/** Set by `cargo xtask test`; without it every start is a first one. */
const sharedFolder = process.env.PLINTH_TEST_SHARED_DIR;

// What belongs to one run, or to the folder's own place.
const leftOut = ["logs", "ports.json", "running.json", "server.log", "lock", "start-lock"];
// Where the database is when PostgreSQL's user cannot reach the folder; that state cannot be copied.
const pointers = ["data-location", "functions-location"];

/**
 * Puts the state into a folder that has none. There is nothing to copy while another test file makes
 * the state, and for Plinth with an object store, because a state belongs to the store that it began with.
 */
export async function copyPreparedState(program, folder, environment) {
  if (!sharedFolder || Object.keys(environment).some((name) => name.startsWith("PLINTH_STORAGE_"))) return;
  const prepared = join(sharedFolder, "plinth-state");
  await prepare(program, prepared, environment);
  if (existsSync(prepared)) await copy(prepared, join(folder, ".plinth"));
}

/** Does nothing if another test file has begun with it. */
async function prepare(program, prepared, environment) {
  const folder = `${prepared}-unfinished`;
  const isFirst = await mkdir(folder).then(
    () => true,
    () => false,
  );
  if (!isFirst) return;
  await chmod(folder, 0o755);
  const server = startServer(program, ["start", "--port", "auto"], { cwd: folder, env: environment });
  await server.ready.finally(() => server.stop());
  const state = join(folder, ".plinth");
  if (pointers.some((name) => existsSync(join(state, name)))) return;
  for (const name of leftOut) await rm(join(state, name), { recursive: true, force: true });
  await rename(state, prepared);
}

/** With owners: PostgreSQL's files belong to its user. */
async function copy(from, to) {
  const { code, stderr } = await run("cp", ["-a", from, to]);
  if (code !== 0) throw new Error(`the prepared state was not copied: ${stderr}`);
}
