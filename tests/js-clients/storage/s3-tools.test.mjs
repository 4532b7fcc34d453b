// Other programs that speak S3: boto3 from PyPI, rclone from the system's packages.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
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

before(async () => {
  plinth = await startPlinth();
  folder = await mkdtemp(join(tmpdir(), "plinth-s3-tools-"));
});
after(async () => {
  await plinth?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** What the developer has set for another S3 must not leak in. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("AWS_")));

/** Runs a program that must succeed. */
async function succeed(program, args, env = {}) {
  const { code, stdout, stderr } = await run(program, args, { env: { ...environment, ...env } });
  assert.equal(code, 0, `${program} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

const isThere = (program, ...args) =>
  run(program, args, { env: process.env }).then(
    ({ code }) => code === 0,
    () => false,
  );

test("boto3 is served", async (t) => {
  if (!(await isThere("python3", "-c", "import ensurepip, venv"))) return t.skip("there is no Python with venv");
  const { s3 } = plinth;
  await succeed("python3", ["-m", "venv", join(folder, "venv")]);
  const python = join(folder, "venv/bin/python");
  await succeed(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", boto3]);
  const printed = await succeed(python, [join(here, "s3_boto3.py"), "--verbose"], {
    S3_ENDPOINT: s3.endpoint,
    S3_REGION: s3.region,
    S3_ACCESS_KEY: s3.accessKeyId,
    S3_SECRET_KEY: s3.secretAccessKey,
  });
  assert.match(printed, /Ran 7 tests/);
});

test("rclone is served", async (t) => {
  if (!(await isThere("rclone", "version"))) return t.skip("there is no rclone");
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
  const rclone = (...args) => succeed("rclone", [...args, "--retries", "1"], env);
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
  await rclone("delete", "plinth:shelf");
  await rclone("rmdir", "plinth:shelf");
  assert.doesNotMatch(await rclone("lsd", "plinth:"), /shelf/);
});
