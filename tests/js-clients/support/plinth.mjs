// Starts the real program for a test file, in a folder of its own, and cleans up after it.
//
//   const plinth = await startPlinth({ files: { "supabase/migrations/1_todos.sql": "create …" } });
//   after(() => plinth.stop());
//
// PLINTH_BIN names the program; `cargo xtask test js-clients` builds it and sets this. If
// PLINTH_TESTSTORE_BIN names an S3 server, files are kept there instead of in the folder.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { run } from "./run.mjs";
import { startStore } from "./store.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const runtimeFolder = process.env.PLINTH_RUNTIME_DIR ?? join(here, "../../../runtime");
const supabaseCli = join(here, "../node_modules/.bin/supabase");

// The first start creates a database cluster, which takes a while on a busy machine.
const startDeadline = 120_000;
const stopDeadline = 30_000;

// The line that ends a start, printed once everything answers.
const readyLine = /^Plinth is running/m;

/**
 * A running Plinth in a fresh folder, on free ports.
 *
 * @param {object} [options]
 * @param {Record<string, string>} [options.files] Files to write into the folder before the start.
 * @param {string[]} [options.args] Further arguments of `plinth start`.
 * @param {Record<string, string>} [options.env] Further environment of the program.
 */
export async function startPlinth({ files = {}, args = [], env = {} } = {}) {
  const program = requireProgram();
  const folder = await mkdtemp(join(await base(), "plinth-js-"));
  // Everybody may enter it: where the tests run as root, PostgreSQL runs as somebody else.
  await chmod(folder, 0o755);
  const store = await startStore();
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
  const start = () => startServer(program, ["start", "--port", "auto", ...args], inFolder);
  let server = start();
  const log = () => server.log();
  /** Ends the program without a warning, as a crash would. */
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

  /** The same with further variables. */
  function supabaseWith(variables, ...cliArgs) {
    // Its own notes stay in the folder, and it reports to nobody.
    const quiet = { SUPABASE_HOME: join(folder, ".supabase"), SUPABASE_TELEMETRY_DISABLED: "1" };
    const options = { cwd: folder, env: { ...environment, ...quiet, ...variables } };
    return run(process.execPath, [supabaseCli, ...cliArgs], options);
  }
}

function requireProgram() {
  const program = process.env.PLINTH_BIN;
  if (!program) {
    throw new Error("PLINTH_BIN must name the plinth program; `cargo xtask test js-clients` sets it.");
  }
  return program;
}

/** What the developer has set for another Plinth or for the hosted service must not leak in. */
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

/** The server process: `ready` settles with its start, `log()` is all it has printed so far. */
function startServer(program, args, options) {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  // Not SIGKILL: the program has a PostgreSQL of its own to stop.
  const endWithUs = () => child.kill("SIGTERM");
  process.once("exit", endWithUs);

  let printed = "";
  const log = () => printed;
  const ready = new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(withLog("did not start in time"))), startDeadline);
    const settle = (action, value) => {
      clearTimeout(late);
      action(value);
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        printed += text;
        if (readyLine.test(printed)) settle(resolve);
      });
    }
    exited.then(
      ([code, signal]) => settle(reject, new Error(withLog(`ended early with ${code ?? signal}`))),
      (error) => settle(reject, new Error(`plinth could not be started: ${error.message}`)),
    );
  });

  return { ready, log, crash, stop };

  async function stop() {
    process.removeListener("exit", endWithUs);
    if (child.pid === undefined) return;
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), stopDeadline);
    const [code, signal] = await exited;
    clearTimeout(late);
    if (code !== 0) throw new Error(withLog(`stopped with ${code ?? signal}`));
  }

  async function crash() {
    process.removeListener("exit", endWithUs);
    child.kill("SIGKILL");
    await exited;
  }

  function withLog(problem) {
    return `plinth ${problem}. It printed:\n${printed}`;
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

/** Memory where there is plenty: dozens of new databases would keep a disk busy with syncing. */
async function base() {
  const memory = "/dev/shm";
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize > 4 * 2 ** 30 ? memory : tmpdir();
}

/** The folder, and what had to be kept outside of it. */
async function removeFolder(folder) {
  const pointers = ["data-location", "functions-location"].map((name) => join(folder, ".plinth", name));
  const outside = await Promise.all(pointers.map((file) => readFile(file, "utf8").catch(() => "")));
  for (const path of [...outside.map((text) => text.trim()), folder]) {
    if (path) await rm(path, { recursive: true, force: true });
  }
}

// The test runner ends a file that takes too long with a signal; servers must not outlive it.
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => process.exit(1));
}
