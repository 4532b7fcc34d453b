// Starts the Rust application of `examples/axum-session`.
//
// PLINTH_EXAMPLE_BIN is the path of its binary; `cargo xtask test ssr` builds it and sets this.

import { spawn } from "node:child_process";
import { once } from "node:events";

const startTimeoutMs = 30_000;
const listening = /^Listening on (\S+)/m;

/** Starts it; resolves to `{ url, stop }`. */
export async function startApp(plinth) {
  const program = process.env.PLINTH_EXAMPLE_BIN;
  if (!program) {
    throw new Error("PLINTH_EXAMPLE_BIN must be the path of the example; `cargo xtask test ssr` sets it.");
  }
  const env = {
    PATH: process.env.PATH,
    PORT: "0",
    SUPABASE_URL: plinth.apiUrl,
    SUPABASE_PUBLISHABLE_KEY: plinth.keys.publishable,
  };
  const child = spawn(program, [], { env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);

  let output = "";
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no start in time:\n${output}`)), startTimeoutMs);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
        const found = listening.exec(output);
        if (found) {
          clearTimeout(timer);
          resolve(found[1]);
        }
      });
    }
    exited.then(([code]) => reject(new Error(`the example ended with ${code}:\n${output}`)));
  });
  return { url, stop };

  async function stop() {
    process.removeListener("exit", kill);
    child.kill("SIGKILL");
    await exited;
  }
}
