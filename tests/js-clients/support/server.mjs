// The server's process.

import { spawn } from "node:child_process";
import { once } from "node:events";

// The first start creates a database cluster, and a stop drains requests before it stops workers and
// PostgreSQL: both take a while on a busy machine.
const startTimeoutMs = 120_000;
const stopTimeoutMs = 120_000;

// Printed once all services are ready.
const readyLine = /^Plinth is running/m;

/** The server process: `ready` settles once it has started or failed, `log()` is its output so far. */
export function startServer(program, args, options) {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  // Not SIGKILL: the process has to stop its own PostgreSQL.
  const terminate = () => child.kill("SIGTERM");
  process.once("exit", terminate);

  let output = "";
  const log = () => output;
  const ready = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(withLog("did not start in time"))), startTimeoutMs);
    const settle = (action, value) => {
      clearTimeout(timer);
      action(value);
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
        if (readyLine.test(output)) settle(resolve);
      });
    }
    exited.then(
      ([code, signal]) => settle(reject, new Error(withLog(`ended early with ${code ?? signal}`))),
      (error) => settle(reject, new Error(`plinth could not be started: ${error.message}`)),
    );
  });

  return { ready, log, crash, stop };

  async function stop() {
    process.removeListener("exit", terminate);
    if (child.pid === undefined) return;
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
    const [code, signal] = await exited;
    clearTimeout(timer);
    if (code !== 0) throw new Error(withLog(`stopped with ${code ?? signal}`));
  }

  async function crash() {
    process.removeListener("exit", terminate);
    child.kill("SIGKILL");
    await exited;
  }

  function withLog(problem) {
    return `plinth ${problem}. It printed:\n${output}`;
  }
}

// The test runner terminates a file that exceeds its timeout; servers must not outlive it.
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => process.exit(1));
}
