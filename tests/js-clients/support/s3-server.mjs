// A real S3 server as Plinth's object store, if PLINTH_TESTSTORE_BIN is set.

import { spawn } from "node:child_process";
import { once } from "node:events";

/** Returns the environment variables for Plinth, and `stop`. */
export async function startS3Server() {
  const program = process.env.PLINTH_TESTSTORE_BIN;
  if (!program) return { environment: {}, stop: async () => {} };
  // It exits when its stdin is closed.
  const child = spawn(program, [], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const [line] = await Promise.race([once(child.stdout.setEncoding("utf8"), "data"), exited.then(ended)]);
  const { endpoint, bucket, accessKey, secretKey } = JSON.parse(line);
  const environment = {
    PLINTH_STORAGE_BACKEND: "s3",
    PLINTH_STORAGE_S3_ENDPOINT: endpoint,
    PLINTH_STORAGE_S3_BUCKET: bucket,
    PLINTH_STORAGE_S3_ACCESS_KEY: accessKey,
    PLINTH_STORAGE_S3_SECRET_KEY: secretKey,
  };
  const stop = async () => {
    child.stdin.end();
    await exited;
  };
  return { environment, stop };
}

function ended([code, signal]) {
  throw new Error(`the S3 server ended early with ${code ?? signal}`);
}
