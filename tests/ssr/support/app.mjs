// The Rust application of `examples/axum-session`, beside a Plinth.
//
// PLINTH_EXAMPLE_BIN names the program; `cargo xtask test ssr` builds it and sets this.

import { spawn } from "node:child_process";
import { once } from "node:events";

const startDeadline = 30_000;
const listening = /^Listening on (\S+)/m;

/** Starts it; resolves to `{ url, stop }`. */
export async function startApp(plinth) {
  const program = process.env.PLINTH_EXAMPLE_BIN;
  if (!program) {
    throw new Error("PLINTH_EXAMPLE_BIN must name the example; `cargo xtask test ssr` sets it.");
  }
  const env = {
    PATH: process.env.PATH,
    PORT: "0",
    SUPABASE_URL: plinth.apiUrl,
    SUPABASE_PUBLISHABLE_KEY: plinth.keys.publishable,
  };
  const child = spawn(program, [], { env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  const endWithUs = () => child.kill("SIGKILL");
  process.once("exit", endWithUs);

  let printed = "";
  const url = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no start in time:\n${printed}`)), startDeadline);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        printed += text;
        const found = listening.exec(printed);
        if (found) {
          clearTimeout(late);
          resolve(found[1]);
        }
      });
    }
    exited.then(([code]) => reject(new Error(`the example ended with ${code}:\n${printed}`)));
  });
  return { url, stop };

  async function stop() {
    process.removeListener("exit", endWithUs);
    child.kill("SIGKILL");
    await exited;
  }
}
