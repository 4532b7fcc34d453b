// Runs inside a worker before the user's code: makes plain Deno look like the edge runtime.
//
// The first line on standard input is the init message. It carries the secrets, so that they are not in
// the environment of the process. Later lines are commands: ping, retire, exit. Lines on standard output
// that begin with the report prefix are reports to the monitor; everything else is the function's output.
//
// A process may be started before its function is known (prewarmed). It blocks until the init message
// comes, so everything slow that does not depend on it is done before.

const assignedModule = (() => {
  const stdin = Deno.stdin;
  const stdout = Deno.stdout;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const exit = Deno.exit.bind(Deno);
  const memoryUsage = Deno.memoryUsage.bind(Deno);
  const now = () => performance.now();
  // The function may replace the global.
  const NativeResponse = Response;

  // -- Standard input and output------------------------------------------------------------------

  let pendingInput = "";
  const readLineSync = () => {
    const chunk = new Uint8Array(65536);
    for (;;) {
      const end = pendingInput.indexOf("\n");
      if (end >= 0) {
        const line = pendingInput.slice(0, end);
        pendingInput = pendingInput.slice(end + 1);
        return line;
      }
      const count = stdin.readSync(chunk);
      if (count === null) exit(1);
      pendingInput += decoder.decode(chunk.subarray(0, count), { stream: true });
    }
  };

  let init;

  const send = (message) => {
    const bytes = encoder.encode(`${init.reportPrefix}${JSON.stringify(message)}\n`);
    let sent = 0;
    while (sent < bytes.length) sent += stdout.writeSync(bytes.subarray(sent));
  };

  // -- Console: one record per call ---------------------------------------------------------------

  // By Deno's log level. The last is that of traces, whose line ends come as messages of their own.
  const levels = ["debug", "info", "warning", "error", "error"];
  const record = (level, text) => {
    if (text.endsWith("\n")) text = text.slice(0, -1);
    if (text.length > init.maxMessageLength) text = text.slice(0, init.maxMessageLength);
    send({ log: text, level, request: requestId() });
  };
  // Which request the current code runs for.
  class Call {
    #request;
    #id;
    constructor(request) {
      this.#request = request;
    }
    // Looked up when something is logged, because most requests log nothing.
    get requestId() {
      if (!this.#request) return this.#id;
      try {
        this.#id = this.#request.headers.get("x-request-id") ?? undefined;
      } catch {
        // The request was closed long ago.
      }
      this.#request = undefined;
      return this.#id;
    }
  }
  const calls = asyncContext();
  const requestId = () => calls?.current()?.requestId;
  const internal = Deno[Deno.internal];
  if (internal?.Console) {
    const recording = new internal.Console((text, level) => {
      if (level < 4 || text !== "\n") record(levels[level] ?? "info", text);
    });
    for (const name of Object.keys(recording)) {
      if (typeof recording[name] === "function") console[name] = recording[name];
    }
  } else {
    const recorder = (level) => (...parts) =>
      record(level, parts.map((part) => typeof part === "string" ? part : Deno.inspect(part)).join(" "));
    const named = { debug: "debug", log: "info", info: "info", warn: "warning", error: "error", trace: "error" };
    for (const [name, level] of Object.entries(named)) console[name] = recorder(level);
  }
  // There is no terminal.
  console.clear = () => {};

  // Values that follow async calls. `AsyncLocalStorage` keeps them in a weak map; one that every request
  // adds to takes a fifth of a busy worker's time.
  function asyncContext() {
    const { getAsyncContext, setAsyncContext } = Deno[Deno.internal]?.core ?? {};
    if (getAsyncContext && setAsyncContext) {
      const { assign } = Object;
      // A string: the runtime treats a context that has only symbols as an empty one.
      const key = "plinth call";
      class Context {
        constructor(outside, value) {
          if (outside) assign(this, outside);
          this[key] = value;
        }
      }
      return {
        current: () => getAsyncContext()?.[key],
        run: (value, work, first, second) => {
          const outside = getAsyncContext();
          setAsyncContext(new Context(outside, value));
          try {
            return work(first, second);
          } finally {
            setAsyncContext(outside);
          }
        },
      };
    }
    const hooks = globalThis.process?.getBuiltinModule?.("node:async_hooks");
    if (!hooks) return null;
    const storage = new hooks.AsyncLocalStorage();
    return { current: () => storage.getStore(), run: storage.run.bind(storage) };
  }

  // -- Work that outlives a response --------------------------------------------------------------

  const pending = new Map();
  let lastWaitUntil = 0;
  const waitUntil = (work) => {
    const promise = Promise.resolve(work);
    const entry = Symbol("work");
    lastWaitUntil = now();
    pending.set(entry, lastWaitUntil);
    // Read now: what it logs later still needs its request id.
    requestId();
    const done = () => {
      pending.delete(entry);
      if (pending.size === 0) send({ pending: 0 });
    };
    if (pending.size === 1) send({ pending: 1 });
    promise.then(done, (error) => {
      record("error", `A promise given to EdgeRuntime.waitUntil was rejected: ${describe(error)}`);
      done();
    });
    return work;
  };
  const describe = (error) => (error instanceof Error && error.stack) || Deno.inspect(error);
  const constant = (object, name, value) =>
    Object.defineProperty(object, name, { value, writable: false, enumerable: true, configurable: false });

  constant(globalThis, "EdgeRuntime", Object.freeze({ waitUntil }));
  if (!("window" in globalThis)) globalThis.window = globalThis;
  // Worker threads would see plain Deno.
  delete globalThis.Worker;
  // It would be kept on disk beyond the worker, under the main module of its process. The edge runtime
  // has none.
  delete globalThis.localStorage;
  constant(globalThis, "Supabase", Object.freeze({
    ai: Object.freeze({
      Session: class Session {
        constructor(model) {
          throw new Error(`Supabase.ai is not available here (asked for ${String(model)})`);
        }
      },
    }),
  }));
  for (const name of ["WorkerRequestCancelled", "WorkerAlreadyRetired"]) {
    Deno.errors[name] ??= { [name]: class extends Error { name = name; } }[name];
  }
  Deno.errors.RateLimitError ??= class RateLimitError extends Error {
    name = "RateLimitError";
    constructor(message, retryAfterMs) {
      super(message);
      this.retryAfterMs = retryAfterMs;
    }
  };

  // -- Requests as the outside sees them ----------------------------------------------------------

  const NativeRequest = globalThis.Request;
  const nativeUrl = Object.getOwnPropertyDescriptor(NativeRequest.prototype, "url").get;
  const unixScheme = "http+unix://";
  const publicUrls = new WeakMap();

  const publicUrl = (request) => {
    const known = publicUrls.get(request);
    if (known !== undefined) return known;
    const native = nativeUrl.call(request);
    if (!native.startsWith(unixScheme)) return native;
    const scheme = request.headers.get("x-forwarded-proto") === "https" ? "https" : "http";
    let rest = native.slice(unixScheme.length);
    // `Deno.serveHttp` calls the socket its host.
    if (rest.startsWith("%2F")) rest = request.headers.get("host") + rest.slice(rest.indexOf("/"));
    const url = `${scheme}://${rest}`;
    publicUrls.set(request, url);
    return url;
  };
  // On the prototype: to define it on each request takes longer than many a function.
  Object.defineProperty(NativeRequest.prototype, "url", {
    get() { return publicUrl(this); }, enumerable: true, configurable: true,
  });

  class Request extends NativeRequest {
    constructor(input, init) {
      super(input, init);
      // The copy may have other headers.
      if (input instanceof NativeRequest) publicUrls.set(this, publicUrl(input));
    }
    clone() {
      const copy = super.clone();
      publicUrls.set(copy, publicUrl(this));
      return copy;
    }
    static [Symbol.hasInstance](value) {
      return NativeRequest[Symbol.hasInstance].call(NativeRequest, value);
    }
  }
  Object.defineProperty(globalThis, "Request", {
    value: Request, writable: true, enumerable: false, configurable: true,
  });

  // The runtime reads nothing from a websocket unless the request's url was read before.
  const nativeUpgrade = Deno.upgradeWebSocket;
  Deno.upgradeWebSocket = (request, options) => {
    publicUrl(request);
    return nativeUpgrade.call(Deno, request, options);
  };

  // -- Serving: the first server gets the socket --------------------------------------------------

  let isSocketClaimed = false;
  const claimSocket = () => {
    if (isSocketClaimed) return false;
    isSocketClaimed = true;
    queueMicrotask(readCommands);
    return true;
  };
  const warnParked = () => record("warning", "Only the first server of a function gets requests; this one gets none.");

  // node:http servers take their address from the environment when they begin to listen, and it is only
  // set for that moment. They have no port then, which many programs ask for. Every server after the first
  // is parked: it emits "listening" and gets no requests. They are found when their event emitter is
  // initialised, so that node modules need not be loaded: most functions have none.
  const serveAddressVariable = "DENO_SERVE_ADDRESS";
  let socketOwner;
  const patchListen = (prototype, isHttp) => {
    const nativeListen = prototype.listen;
    const fakePort = (server, details) => {
      const port = Number(details[0]?.port ?? details[0]) || 8000;
      const getsockname = (target) => {
        Object.assign(target, { address: "127.0.0.1", family: "IPv4", port });
        return 0;
      };
      if (server._handle && !server._handle.getsockname) server._handle.getsockname = getsockname;
    };
    const park = (server, details) => {
      warnParked();
      const callback = details.at(-1);
      if (typeof callback === "function") server.once("listening", callback);
      server._handle = { close() {}, ref() {}, unref() {} };
      fakePort(server, details);
      queueMicrotask(() => server.emit("listening"));
      return server;
    };
    prototype.listen = function (...details) {
      if (isSocketClaimed && this !== socketOwner) return park(this, details);
      if (!isHttp) return nativeListen.apply(this, details);
      claimSocket();
      socketOwner = this;
      Deno.env.set(serveAddressVariable, `unix:${init.socket}`);
      try {
        nativeListen.apply(this, details);
      } finally {
        Deno.env.delete(serveAddressVariable);
      }
      fakePort(this, details);
      return this;
    };
  };
  const known = new WeakSet();
  const patchServers = (emitter) => {
    for (let above = Object.getPrototypeOf(emitter); above && !known.has(above); above = Object.getPrototypeOf(above)) {
      known.add(above);
      if (!Object.hasOwn(above, "listen")) continue;
      // Subclasses call these in the end. Other classes may have a method of that name, too.
      const isHttp = "getConnections" in above &&
        (Object.hasOwn(above, "closeAllConnections") || above.constructor?.name === "Http2Server");
      if (isHttp || Object.hasOwn(above, "getConnections")) patchListen(above, isHttp);
    }
  };
  let emitters;
  for (let above = globalThis.process; above; above = Object.getPrototypeOf(above)) {
    if (Object.hasOwn(above, "emit")) emitters = above.constructor;
  }
  const nativeInit = emitters?.init;
  if (nativeInit) {
    emitters.init = function (options) {
      patchServers(this);
      return nativeInit.call(this, options);
    };
  }

  // A class, because an object literal with getters is slow to create, and every request creates one.
  class ServeHandlerInfo {
    #request;
    #native;
    constructor(request, native) {
      this.#request = request;
      this.#native = native;
    }
    get completed() {
      return this.#native.completed;
    }
    get remoteAddr() {
      const hostname = this.#request.headers.get("x-forwarded-for")?.split(",")[0].trim() || "127.0.0.1";
      return { transport: "tcp", hostname, port: 0 };
    }
  }
  const wrap = (handler, onError) => {
    const fail = async (error) => {
      if (onError) return await onError(error);
      record("error", describe(error));
      return new NativeResponse("Internal Server Error", { status: 500 });
    };
    const settle = async (response) => {
      try {
        const settled = await response;
        if (settled instanceof NativeResponse) return settled;
        throw new TypeError("The handler must return a Response, or a promise of one");
      } catch (error) {
        return fail(error);
      }
    };
    const respond = (request, info) => {
      let response;
      try {
        response = handler(request, new ServeHandlerInfo(request, info));
      } catch (error) {
        return fail(error);
      }
      return response instanceof NativeResponse ? response : settle(response);
    };
    if (!calls) return respond;
    return (request, info) => calls.run(new Call(request), respond, request, info);
  };

  const nativeServe = Deno.serve;
  const parked = () => {
    warnParked();
    const finished = new Promise(() => {});
    return {
      addr: { transport: "tcp", hostname: "0.0.0.0", port: 0 },
      finished, ref() {}, unref() {}, async shutdown() {}, async [Symbol.asyncDispose]() {},
    };
  };
  let server;
  Deno.serve = (first, second) => {
    const options = typeof first === "function" ? (typeof second === "object" && second) || {} : first ?? {};
    const handler = typeof first === "function" ? first : typeof second === "function" ? second : options.handler;
    if (typeof handler !== "function") throw new TypeError("A handler function must be provided.");
    if (!claimSocket()) return parked();
    const { onListen, onError, signal } = options;
    const address = { transport: "tcp", hostname: options.hostname ?? "0.0.0.0", port: options.port ?? 8000 };
    server = nativeServe.call(Deno, {
      path: init.socket,
      signal,
      onListen: () => onListen?.(address),
    }, wrap(handler, onError));
    Object.defineProperty(server, "addr", { value: address });
    return server;
  };

  const nativeListen = Deno.listen;
  const constantAddress = (object, name, port) =>
    Object.defineProperty(object, name, { value: { transport: "tcp", hostname: "127.0.0.1", port } });
  Deno.listen = (options) => {
    if (!claimSocket()) throw new Deno.errors.NotSupported("A function can listen only once.");
    const port = options?.port ?? 8000;
    const listener = nativeListen.call(Deno, { transport: "unix", path: init.socket });
    constantAddress(listener, "addr", port);
    const nativeAccept = listener.accept;
    listener.accept = async () => {
      const connection = await nativeAccept.call(listener);
      constantAddress(connection, "localAddr", port);
      constantAddress(connection, "remoteAddr", 0);
      return connection;
    };
    return listener;
  };
  for (const name of ["listenTls", "listenDatagram"]) {
    if (!(name in Deno)) continue;
    Deno[name] = () => {
      throw new Deno.errors.NotSupported(`Deno.${name} is not available in functions.`);
    };
  }
  const noOp = (name) => () => record("warning", `${name} does nothing in functions.`);
  Deno.exit = noOp("Deno.exit");
  const nativeKill = Deno.kill;
  const ignoreKill = noOp("Deno.kill");
  Deno.kill = (pid, signal) => pid === Deno.pid ? ignoreKill() : nativeKill.call(Deno, pid, signal);
  const node = globalThis.process;
  if (node) {
    // Deprecation warnings of packages are no errors of the function.
    node.noDeprecation = true;
    for (const name of ["exit", "reallyExit", "abort"]) node[name] = noOp(`process.${name}`);
    const nodeKill = node.kill;
    node.kill = (pid, signal) => pid === Deno.pid ? ignoreKill() || true : nodeKill.call(node, pid, signal);
  }

  // Packages call these in passing; functions get no details of the machine.
  Deno.hostname = () => "localhost";
  Deno.loadavg = () => [0, 0, 0];
  Deno.networkInterfaces = () => [{
    name: "lo", family: "IPv4", address: "127.0.0.1", netmask: "255.0.0.0", scopeid: null,
    cidr: "127.0.0.1/8", mac: "00:00:00:00:00:00",
  }];

  // Variables that the runtime reads late: HOME in `os.homedir()`, which packages make paths of, the
  // others for the first TLS connection. The function must not see them.
  const hideVariables = (names) => {
    const { env } = Deno;
    const { delete: remove, get, has, set, toObject } = env;
    set.call(env, "HOME", "/home/deno");
    const hidden = new Set(["HOME", ...names]);
    const visible = (change) => (...details) => {
      hidden.delete(details[0]);
      return change.apply(env, details);
    };
    Object.assign(env, {
      get: (name) => hidden.has(name) ? undefined : get.call(env, name),
      has: (name) => !hidden.has(name) && has.call(env, name),
      toObject: () => Object.fromEntries(Object.entries(toObject.call(env)).filter(([name]) => !hidden.has(name))),
      set: visible(set),
      delete: visible(remove),
    });
  };

  // -- Commands -----------------------------------------------------------------------------------

  const dispatch = (name, detail) => {
    try {
      globalThis.dispatchEvent(new CustomEvent(name, { detail, cancelable: true }));
    } catch (error) {
      record("error", describe(error));
    }
  };
  const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  const exitInOrder = async () => {
    // Handlers of responses that were cut off run first.
    await Promise.race([server?.shutdown(), sleep(200)]);
    do await sleep(20); while (pending.size > 0);
    dispatch("unload");
    pong(0);
    exit(0);
  };
  const pong = (number) => {
    const [oldest] = pending.values();
    const memory = memoryUsage();
    send({
      pong: number,
      pending: pending.size,
      oldest: oldest === undefined ? 0 : Math.round(now() - oldest),
      newest: Math.round(now() - lastWaitUntil),
      heap: memory.heapUsed,
      external: memory.external,
    });
  };
  const handleCommand = (command) => {
    if (command.ping !== undefined) pong(command.ping);
    if (command.retire) {
      dispatch("beforeunload", { reason: command.retire });
      dispatch("drain", { reason: command.retire });
    }
    if (command.exit) exitInOrder();
  };
  async function readCommands() {
    const chunk = new Uint8Array(4096);
    for (;;) {
      const end = pendingInput.indexOf("\n");
      if (end >= 0) {
        const line = pendingInput.slice(0, end);
        pendingInput = pendingInput.slice(end + 1);
        handleCommand(JSON.parse(line));
        continue;
      }
      const count = await stdin.read(chunk);
      // The server has exited.
      if (count === null) exit(0);
      pendingInput += decoder.decode(chunk.subarray(0, count), { stream: true });
    }
  }

  // -- Caches are keyed by the main module of a process, which a prewarmed one shares ---------------

  function separateCaches(module) {
    const caches = CacheStorage.prototype;
    const { open, has, keys } = caches;
    const remove = caches.delete;
    const prefix = `${module} `;
    const own = (method) => async function (name) {
      return await method.call(this, prefix + name);
    };
    const ownNames = async function () {
      const names = await keys.call(this);
      return names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    };
    const match = async function (request, options) {
      const asked = options?.cacheName;
      for (const name of await ownNames.call(this)) {
        if (asked !== undefined && name !== asked) continue;
        const cache = await open.call(this, prefix + name);
        const found = await cache.match(request, options);
        if (found) return found;
      }
    };
    Object.assign(caches, { open: own(open), has: own(has), delete: own(remove), keys: ownNames, match });
  }

  // -- From here on the function is known ----------------------------------------------------------

  init = JSON.parse(readLineSync());
  for (const name of [...init.deletedVariables, serveAddressVariable]) Deno.env.delete(name);
  hideVariables(init.hiddenVariables);
  for (const [name, value] of Object.entries(init.env)) Deno.env.set(name, value);

  // A process that was started for this function runs it as its main module. A prewarmed one imports it,
  // and looks from now on as if it had been started for it.
  const assignment = init.assignment;
  if (!assignment) return null;
  for (const path of assignment.revoked) Deno.permissions.revokeSync({ name: "read", path });
  Deno.chdir(assignment.folder);
  separateCaches(assignment.module);
  Object.defineProperty(Deno, "mainModule", { value: assignment.module, enumerable: true, configurable: true });
  if (node) node.argv[1] = assignment.file;
  return assignment.module;
})();

if (assignedModule) {
  const { default: exported } = await import(assignedModule);
  if (exported && Object.hasOwn(exported, "fetch")) Deno.serve((request, info) => exported.fetch(request, info));
}
