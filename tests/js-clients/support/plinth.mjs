// Starts the real binary for a test file, in its own folder, and cleans up afterwards.
//
//   const plinth = await startPlinth({ files: { "supabase/migrations/1_todos.sql": "create …" } });
//   after(() => plinth.stop());
//
// PLINTH_BIN is the path of the binary; `cargo xtask test js-clients` builds it and sets this. If
// PLINTH_TESTSTORE_BIN is the path of an S3 server, objects are stored there instead of in the folder.

import { chmod, mkdir, mkdtemp, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { copyPreparedState } from "./prepared.mjs";
import { run } from "./run.mjs";
import { startS3Server } from "./s3-server.mjs";
import { startServer } from "./server.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const runtimeFolder = process.env.PLINTH_RUNTIME_DIR ?? join(here, "../../../runtime");
const supabaseCli = join(here, "../node_modules/.bin/supabase");

/**
 * A running Plinth in a fresh folder, on free ports.
 *
 * @param {object} [options]
 * @param {Record<string, string>} [options.files] Files to write into the folder before the start.
 * @param {string[]} [options.args] Additional arguments of `plinth start`.
 * @param {Record<string, string>} [options.env] Additional environment variables.
 * @param {boolean} [options.isFirstStart] Whether the test is about a start without a database.
 */
export async function startPlinth({ files = {}, args = [], env = {}, isFirstStart = false } = {}) {
  const program = requireProgram();
  const folder = await mkdtemp(join(await tempFolder(), "plinth-js-"));
  // World-readable: if the tests run as root, PostgreSQL runs as another system user.
  await chmod(folder, 0o755);
  const store = await startS3Server();
  const environment = {
    ...cleanEnvironment(),
    PLINTH_RUNTIME_DIR: runtimeFolder,
    ...store.environment,
    ...env,
  };
  const inFolder = { cwd: folder, env: environment };
  /** Runs plinth itself in the folder: `{ code, stdout, stderr }`. */
  const cli = (...cliArgs) => run(program, cliArgs, inFolder);

  await writeFiles(folder, files);
  if (!isFirstStart) await copyPreparedState(program, folder, environment);
  const start = () => startServer(program, ["start", "--port", "auto", ...args], inFolder);
  let server = start();
  const log = () => server.log();
  /** Kills the process, as a crash would. */
  const crash = () => server.crash();
  /** Starts it again in the same folder, on the same ports. */
  const restart = async () => {
    server = start();
    await server.ready;
  };
  const stop = async () => {
    try {
      await server.stop();
    } finally {
      await store.stop();
      await removeFolder(folder);
    }
  };
  try {
    await server.ready;
    const status = await readStatus(cli);
    return { ...status, folder, store, cli, supabase, supabaseWith, log, crash, restart, stop };
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }

  /** Runs the official CLI in the folder: `{ code, stdout, stderr }`. */
  function supabase(...cliArgs) {
    return supabaseWith({}, ...cliArgs);
  }

  /** The same with additional environment variables. */
  function supabaseWith(variables, ...cliArgs) {
    // Keep its state in the folder, and disable telemetry.
    const cliEnvironment = { SUPABASE_HOME: join(folder, ".supabase"), SUPABASE_TELEMETRY_DISABLED: "1" };
    const options = { cwd: folder, env: { ...environment, ...cliEnvironment, ...variables } };
    return run(process.execPath, [supabaseCli, ...cliArgs], options);
  }
}

function requireProgram() {
  const program = process.env.PLINTH_BIN;
  if (!program) {
    throw new Error(
      "PLINTH_BIN must be the path of the plinth binary; `cargo xtask test js-clients` sets it.",
    );
  }
  return program;
}

/** Without variables that the developer has set for another Plinth or for the hosted service. */
function cleanEnvironment() {
  const isForeign = ([name]) => name.startsWith("PLINTH_") || name.startsWith("SUPABASE_");
  return Object.fromEntries(Object.entries(process.env).filter((entry) => !isForeign(entry)));
}

async function writeFiles(folder, files) {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

async function readStatus(cli) {
  const { code, stdout, stderr } = await cli("status", "-o", "json");
  if (code !== 0) throw new Error(`plinth status ended with ${code}: ${stderr}`);
  const status = JSON.parse(stdout);
  return {
    apiUrl: status.API_URL,
    dbUrl: status.DB_URL,
    ref: status.PLINTH_REF,
    jwtSecret: status.JWT_SECRET,
    keys: {
      publishable: status.PUBLISHABLE_KEY,
      secret: status.SECRET_KEY,
      anon: status.ANON_KEY,
      serviceRole: status.SERVICE_ROLE_KEY,
    },
    s3: {
      endpoint: status.STORAGE_S3_URL,
      region: status.S3_PROTOCOL_REGION,
      accessKeyId: status.S3_PROTOCOL_ACCESS_KEY_ID,
      secretAccessKey: status.S3_PROTOCOL_ACCESS_KEY_SECRET,
    },
  };
}

/** tmpfs if it is large enough: dozens of new databases would keep a disk busy with fsync. */
async function tempFolder() {
  const memory = "/dev/shm";
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize > 4 * 2 ** 30 ? memory : tmpdir();
}

/** Removes the folder, and data that was placed outside of it. */
async function removeFolder(folder) {
  const pointers = ["data-location", "functions-location"].map((name) => join(folder, ".plinth", name));
  const outside = await Promise.all(pointers.map((file) => readFile(file, "utf8").catch(() => "")));
  for (const path of [...outside.map((text) => text.trim()), folder]) {
    // A process that has just been killed may still be writing a file.
    if (path) await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}
