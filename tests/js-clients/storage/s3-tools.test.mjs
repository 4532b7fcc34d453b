// Other S3 clients: boto3 from PyPI; rclone, restic and s3cmd from the system's packages.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { startPlinth } from "../support/plinth.mjs";
import { run } from "../support/run.mjs";

const boto3 = "boto3==1.44.0";
const here = dirname(fileURLToPath(import.meta.url));

let plinth;
let folder;
/** Of the endpoint that has no path. */
let port;

/** A port without a listener. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

before(async () => {
  port = await freePort();
  plinth = await startPlinth({ args: ["--set", `plinth.storage.s3.port=${port}`] });
  folder = await mkdtemp(join(tmpdir(), "plinth-s3-tools-"));
});
after(async () => {
  await plinth?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** Without variables that the developer has set for another S3. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("AWS_")));

/** Runs a program, which must succeed. */
async function expectSuccess(program, args, env = {}) {
  const { code, stdout, stderr } = await run(program, args, { env: { ...environment, ...env } });
  assert.equal(code, 0, `${program} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

const isInstalled = (program, ...args) =>
  run(program, args, { env: process.env }).then(
    ({ code }) => code === 0,
    () => false,
  );

/** Skips the test if the program is not there. `cargo xtask test` says where it has to be. */
async function isMissing(t, reason, program, ...args) {
  if (await isInstalled(program, ...args)) return false;
  assert.ok(!process.env.PLINTH_TESTS_MUST_RUN, `a test must not be skipped here: ${reason}`);
  t.skip(reason);
  return true;
}

test("boto3 is served", async (t) => {
  if (await isMissing(t, "there is no Python with venv", "python3", "-c", "import ensurepip, venv")) return;
  const { s3 } = plinth;
  await expectSuccess("python3", ["-m", "venv", join(folder, "venv")]);
  const python = join(folder, "venv/bin/python");
  await expectSuccess(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", boto3]);
  const printed = await expectSuccess(python, [join(here, "s3_boto3.py"), "--verbose"], {
    S3_ENDPOINT: s3.endpoint,
    S3_REGION: s3.region,
    S3_ACCESS_KEY: s3.accessKeyId,
    S3_SECRET_KEY: s3.secretAccessKey,
  });
  assert.match(printed, /Ran 7 tests/);
});

test("rclone is served", async (t) => {
  if (await isMissing(t, "there is no rclone", "rclone", "version")) return;
  const { s3 } = plinth;
  const env = {
    RCLONE_CONFIG: join(folder, "rclone.conf"),
    RCLONE_CONFIG_PLINTH_TYPE: "s3",
    RCLONE_CONFIG_PLINTH_PROVIDER: "Other",
    RCLONE_CONFIG_PLINTH_ENDPOINT: s3.endpoint,
    RCLONE_CONFIG_PLINTH_REGION: s3.region,
    RCLONE_CONFIG_PLINTH_ACCESS_KEY_ID: s3.accessKeyId,
    RCLONE_CONFIG_PLINTH_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const rclone = (...args) => expectSuccess("rclone", [...args, "--retries", "1"], env);
  const [from, back] = [join(folder, "from"), join(folder, "back")];
  const large = randomBytes(11 * 1024 * 1024);
  await mkdir(join(from, "sub folder"), { recursive: true });
  await writeFile(join(from, "sub folder/a+b & c.txt"), "small");
  await writeFile(join(from, "large.bin"), large);

  await rclone("mkdir", "plinth:shelf");
  await rclone("copy", from, "plinth:shelf/kept", "--s3-upload-cutoff", "5M", "--s3-chunk-size", "5M");
  await rclone("check", from, "plinth:shelf/kept", "--download");
  assert.match(await rclone("lsf", "-R", "plinth:shelf"), /kept\/sub folder\/a\+b & c\.txt/);
  await rclone("moveto", "plinth:shelf/kept/large.bin", "plinth:shelf/moved.bin");
  await rclone("sync", "plinth:shelf", back);
  assert.deepEqual(await readFile(join(back, "moved.bin")), large);
  await rclone("purge", "plinth:shelf");
  assert.doesNotMatch(await rclone("lsd", "plinth:"), /shelf/);
});

test("restic is served at an endpoint without a path", async (t) => {
  if (await isMissing(t, "there is no restic", "restic", "version")) return;
  const { s3 } = plinth;
  const env = {
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    RESTIC_PASSWORD: "for tests only",
    RESTIC_REPOSITORY: `s3:http://127.0.0.1:${port}/backups/machine`,
    RESTIC_CACHE_DIR: join(folder, "restic-cache"),
  };
  const restic = (...args) => expectSuccess("restic", args, env);
  const [from, back] = [join(folder, "backed-up"), join(folder, "restored")];
  const large = randomBytes(9 * 1024 * 1024);
  await mkdir(from, { recursive: true });
  await writeFile(join(from, "large.bin"), large);

  await restic("init");
  await restic("backup", from);
  await writeFile(join(from, "small.txt"), "small");
  await restic("backup", from);
  await restic("check", "--read-data");
  assert.equal(JSON.parse(await restic("snapshots", "--json", "--quiet")).length, 2);
  await restic("restore", "latest", "--target", back);
  assert.deepEqual(await readFile(join(back, from, "large.bin")), large);
  assert.equal(await readFile(join(back, from, "small.txt"), "utf8"), "small");
  await restic("forget", "--keep-last", "1", "--prune");
});

test("s3cmd is served at an endpoint without a path", async (t) => {
  if (await isMissing(t, "there is no s3cmd", "s3cmd", "--version")) return;
  const { s3 } = plinth;
  const config = join(folder, "s3cfg");
  const settings = {
    access_key: s3.accessKeyId,
    secret_key: s3.secretAccessKey,
    host_base: `127.0.0.1:${port}`,
    host_bucket: `127.0.0.1:${port}`,
    use_https: "False",
    bucket_location: s3.region,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  await writeFile(config, ["[default]", ...lines, ""].join("\n"));
  const s3cmd = (...args) => expectSuccess("s3cmd", ["--config", config, "--no-progress", ...args]);
  const [file, back] = [join(folder, "sent.bin"), join(folder, "back.bin")];
  const large = randomBytes(11 * 1024 * 1024);
  await writeFile(file, large);

  await s3cmd("mb", "s3://boxes");
  await s3cmd("put", "--multipart-chunk-size-mb=5", file, "s3://boxes/a folder/sent+1.bin");
  assert.match(await s3cmd("ls", "-r", "s3://boxes"), /s3:\/\/boxes\/a folder\/sent\+1\.bin/);
  await s3cmd("get", "s3://boxes/a folder/sent+1.bin", back);
  assert.deepEqual(await readFile(back), large);
  await s3cmd("mv", "s3://boxes/a folder/sent+1.bin", "s3://boxes/moved.bin");
  await s3cmd("sync", "s3://boxes/", `${join(folder, "synced")}/`);
  assert.deepEqual(await readFile(join(folder, "synced/moved.bin")), large);
  await s3cmd("del", "-r", "-f", "s3://boxes");
  await s3cmd("rb", "s3://boxes");
  assert.doesNotMatch(await s3cmd("ls"), /boxes/);
});
