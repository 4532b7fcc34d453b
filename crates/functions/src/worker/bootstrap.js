// Runs inside a worker before the user's code: makes plain Deno look like the edge runtime.
//
// The first line on standard input carries everything that the worker is told, secrets among it, so
// that nothing of it stands in the process's environment. Later lines are questions and orders. What
// goes out on standard output and begins with the mark is ours; everything else is the user's.
//
// A process may be started before anybody knows which function it will serve. It waits for the first
// line, so all that takes time and can be done without it stands before the line is read.

const assigned = (() => {
  const stdin = Deno.stdin;
  const stdout = Deno.stdout;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const exit = Deno.exit.bind(Deno);
  const memoryUsage = Deno.memoryUsage.bind(Deno);
  const now = () => performance.now();
  // A function may put its own in its place.
  const NativeResponse = Response;

  // -- What we are told ---------------------------------------------------------------------------

  let pendingInput = "";
  const readLineSync = () => {
    const piece = new Uint8Array(65536);
    for (;;) {
      const end = pendingInput.indexOf("\n");
      if (end >= 0) {
        const line = pendingInput.slice(0, end);
        pendingInput = pendingInput.slice(end + 1);
        return line;
      }
      const count = stdin.readSync(piece);
      if (count === null) exit(1);
      pendingInput += decoder.decode(piece.subarray(0, count), { stream: true });
    }
  };

  let told;

  const send = (message) => {
    const bytes = encoder.encode(`${told.mark}${JSON.stringify(message)}\n`);
    let sent = 0;
    while (sent < bytes.length) sent += stdout.writeSync(bytes.subarray(sent));
  };

  // -- Console: one record per call ---------------------------------------------------------------

  // The last is that of traces, whose ends of line come by themselves.
  const levels = ["debug", "info", "warning", "error", "error"];
  const record = (level, text) => {
    if (text.endsWith("\n")) text = text.slice(0, -1);
    if (text.length > told.longestMessage) text = text.slice(0, told.longestMessage);
    send({ log: text, level, request: requestId() });
  };
  // What runs for which request.
  class Call {
    #request;
    #id;
    constructor(request) {
      this.#request = request;
    }
    // Looked up when something is printed, because most requests print nothing.
    get requestId() {
      if (!this.#request) return this.#id;
      try {
        this.#id = this.#request.headers.get("x-request-id") ?? undefined;
      } catch {
        // It was answered long ago.
      }
      this.#request = undefined;
      return this.#id;
    }
  }
  const calls = asyncContext();
  const requestId = () => calls?.current()?.requestId;
  const internal = Deno[Deno.internal];
  if (internal?.Console) {
    const speaking = new internal.Console((text, level) => {
      if (level < 4 || text !== "\n") record(levels[level] ?? "info", text);
    });
    for (const name of Object.keys(speaking)) {
      if (typeof speaking[name] === "function") console[name] = speaking[name];
    }
  } else {
    const say = (level) => (...parts) =>
      record(level, parts.map((part) => typeof part === "string" ? part : Deno.inspect(part)).join(" "));
    const named = { debug: "debug", log: "info", info: "info", warn: "warning", error: "error", trace: "error" };
    for (const [name, level] of Object.entries(named)) console[name] = say(level);
  }
  // There is no screen.
  console.clear = () => {};

  // Values that everything which was begun with them finds again. `AsyncLocalStorage` keeps them in a
  // weak map, and a map that every request adds to takes a fifth of a busy worker's time.
  function asyncContext() {
    const { getAsyncContext, setAsyncContext } = Deno[Deno.internal]?.core ?? {};
    if (getAsyncContext && setAsyncContext) {
      const { assign } = Object;
      // A text: the runtime takes a context for an empty one that has nothing but symbols.
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

  // -- Work that outlives an answer ---------------------------------------------------------------

  const pending = new Map();
  let lastGiven = 0;
  const waitUntil = (work) => {
    const promise = Promise.resolve(work);
    const entry = Symbol("work");
    lastGiven = now();
    pending.set(entry, lastGiven);
    // What is printed later can still be told apart.
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
  // Threads of their own would see plain Deno.
  delete globalThis.Worker;
  // It outlives the worker, on the disk, by the name of the module that its process began with. The
  // edge runtime has none.
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
  const overSocket = "http+unix://";
  const publicUrls = new WeakMap();

  const publicUrl = (request) => {
    const known = publicUrls.get(request);
    if (known !== undefined) return known;
    const native = nativeUrl.call(request);
    if (!native.startsWith(overSocket)) return native;
    const scheme = request.headers.get("x-forwarded-proto") === "https" ? "https" : "http";
    let rest = native.slice(overSocket.length);
    // `Deno.serveHttp` calls the socket its host.
    if (rest.startsWith("%2F")) rest = request.headers.get("host") + rest.slice(rest.indexOf("/"));
    const url = `${scheme}://${rest}`;
    publicUrls.set(request, url);
    return url;
  };
  // Once for all requests: to change each of them on its arrival takes longer than many a function.
  Object.defineProperty(NativeRequest.prototype, "url", {
    get() { return publicUrl(this); }, enumerable: true, configurable: true,
  });

  class Request extends NativeRequest {
    constructor(input, init) {
      super(input, init);
      // A copy may have other headers than what came.
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

  // The runtime reads nothing from a websocket whose request's address was not read before.
  const nativeUpgrade = Deno.upgradeWebSocket;
  Deno.upgradeWebSocket = (request, options) => {
    publicUrl(request);
    return nativeUpgrade.call(Deno, request, options);
  };

  // -- Serving: the first server gets the socket --------------------------------------------------

  let isTaken = false;
  const take = () => {
    if (isTaken) return false;
    isTaken = true;
    queueMicrotask(listenToOrders);
    return true;
  };
  const sayParked = () => record("warning", "Only the first server of a function gets requests; this one gets none.");

  // Servers of node:http ask the environment for an address of their own when they begin to listen, which
  // is the only time that it is there. They know no port then, and many ask for it. Every server after the
  // first is parked: it hears that it listens, and nobody comes. All of them begin as emitters, so that their
  // modules need not be loaded to find them: most functions have none.
  const overSocketOnly = "DENO_SERVE_ADDRESS";
  let taker;
  const patchListen = (prototype, isHttp) => {
    const nativeListen = prototype.listen;
    const knowsPort = (server, details) => {
      const port = Number(details[0]?.port ?? details[0]) || 8000;
      const getsockname = (told) => {
        Object.assign(told, { address: "127.0.0.1", family: "IPv4", port });
        return 0;
      };
      if (server._handle && !server._handle.getsockname) server._handle.getsockname = getsockname;
    };
    const park = (server, details) => {
      sayParked();
      const heard = details.at(-1);
      if (typeof heard === "function") server.once("listening", heard);
      server._handle = { close() {}, ref() {}, unref() {} };
      knowsPort(server, details);
      queueMicrotask(() => server.emit("listening"));
      return server;
    };
    prototype.listen = function (...details) {
      if (isTaken && this !== taker) return park(this, details);
      if (!isHttp) return nativeListen.apply(this, details);
      take();
      taker = this;
      Deno.env.set(overSocketOnly, `unix:${told.socket}`);
      try {
        nativeListen.apply(this, details);
      } finally {
        Deno.env.delete(overSocketOnly);
      }
      knowsPort(this, details);
      return this;
    };
  };
  const known = new WeakSet();
  const patchServers = (emitter) => {
    for (let above = Object.getPrototypeOf(emitter); above && !known.has(above); above = Object.getPrototypeOf(above)) {
      known.add(above);
      if (!Object.hasOwn(above, "listen")) continue;
      // Classes of the function's own call these in the end. Others may have a method of that name, too.
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

  // A class, because an object with getters of its own is slow to make, and every request makes one.
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
    const answer = (request, info) => {
      let response;
      try {
        response = handler(request, new ServeHandlerInfo(request, info));
      } catch (error) {
        return fail(error);
      }
      return response instanceof NativeResponse ? response : settle(response);
    };
    if (!calls) return answer;
    return (request, info) => calls.run(new Call(request), answer, request, info);
  };

  const nativeServe = Deno.serve;
  const parked = () => {
    sayParked();
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
    if (!take()) return parked();
    const { onListen, onError, signal } = options;
    const address = { transport: "tcp", hostname: options.hostname ?? "0.0.0.0", port: options.port ?? 8000 };
    server = nativeServe.call(Deno, {
      path: told.socket,
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
    if (!take()) throw new Deno.errors.NotSupported("A function listens once; this is its second time.");
    const port = options?.port ?? 8000;
    const listener = nativeListen.call(Deno, { transport: "unix", path: told.socket });
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
  const stays = (name) => () => record("warning", `${name} does nothing in functions.`);
  Deno.exit = stays("Deno.exit");
  const nativeKill = Deno.kill;
  const staysAlive = stays("Deno.kill");
  Deno.kill = (pid, signal) => pid === Deno.pid ? staysAlive() : nativeKill.call(Deno, pid, signal);
  const node = globalThis.process;
  if (node) {
    // What packages ask of each other is no error of the function's.
    node.noDeprecation = true;
    for (const name of ["exit", "reallyExit", "abort"]) node[name] = stays(`process.${name}`);
    const nodeKill = node.kill;
    node.kill = (pid, signal) => pid === Deno.pid ? staysAlive() || true : nodeKill.call(node, pid, signal);
  }

  // Programs ask for these in passing; what the machine is called and reaches is not theirs to know.
  Deno.hostname = () => "localhost";
  Deno.loadavg = () => [0, 0, 0];
  Deno.networkInterfaces = () => [{
    name: "lo", family: "IPv4", address: "127.0.0.1", netmask: "255.0.0.0", scopeid: null,
    cidr: "127.0.0.1/8", mac: "00:00:00:00:00:00",
  }];

  // The runtime reads these when it needs them: `os.homedir()` the one, which programs make paths of, the
  // first encrypted connection the others. Nobody else is to see them.
  const keepUnseen = (names) => {
    const { env } = Deno;
    const { delete: remove, get, has, set, toObject } = env;
    set.call(env, "HOME", "/home/deno");
    const unseen = new Set(["HOME", ...names]);
    const given = (change) => (...details) => {
      unseen.delete(details[0]);
      return change.apply(env, details);
    };
    Object.assign(env, {
      get: (name) => unseen.has(name) ? undefined : get.call(env, name),
      has: (name) => !unseen.has(name) && has.call(env, name),
      toObject: () => Object.fromEntries(Object.entries(toObject.call(env)).filter(([name]) => !unseen.has(name))),
      set: given(set),
      delete: given(remove),
    });
  };

  // -- Orders -------------------------------------------------------------------------------------

  const announce = (name, detail) => {
    try {
      globalThis.dispatchEvent(new CustomEvent(name, { detail, cancelable: true }));
    } catch (error) {
      record("error", describe(error));
    }
  };
  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  const leave = async () => {
    // Answers that were cut hear of it first.
    await Promise.race([server?.shutdown(), pause(200)]);
    do await pause(20); while (pending.size > 0);
    announce("unload");
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
      newest: Math.round(now() - lastGiven),
      heap: memory.heapUsed,
      external: memory.external,
    });
  };
  const obey = (order) => {
    if (order.ping !== undefined) pong(order.ping);
    if (order.retire) {
      announce("beforeunload", { reason: order.retire });
      announce("drain", { reason: order.retire });
    }
    if (order.leave) leave();
  };
  async function listenToOrders() {
    const piece = new Uint8Array(4096);
    for (;;) {
      const end = pendingInput.indexOf("\n");
      if (end >= 0) {
        const line = pendingInput.slice(0, end);
        pendingInput = pendingInput.slice(end + 1);
        obey(JSON.parse(line));
        continue;
      }
      const count = await stdin.read(piece);
      // Whoever started us is gone.
      if (count === null) exit(0);
      pendingInput += decoder.decode(piece.subarray(0, count), { stream: true });
    }
  }

  // -- Caches belong to the module that a process began with, unless that is this one --------------

  function separateCaches(module) {
    const caches = CacheStorage.prototype;
    const { open, has, keys } = caches;
    const remove = caches.delete;
    const prefix = `${module} `;
    const own = (method) => async function (name) {
      return await method.call(this, prefix + name);
    };
    const ownKeys = async function () {
      const names = await keys.call(this);
      return names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    };
    const match = async function (request, options) {
      const asked = options?.cacheName;
      for (const name of await ownKeys.call(this)) {
        if (asked !== undefined && name !== asked) continue;
        const cache = await open.call(this, prefix + name);
        const found = await cache.match(request, options);
        if (found) return found;
      }
    };
    Object.assign(caches, { open: own(open), has: own(has), delete: own(remove), keys: ownKeys, match });
  }

  // -- From here on it is known what is served -----------------------------------------------------

  told = JSON.parse(readLineSync());
  for (const name of [...told.hidden, overSocketOnly]) Deno.env.delete(name);
  keepUnseen(told.unseen);
  for (const [name, value] of Object.entries(told.env)) Deno.env.set(name, value);

  // A process that was started for this function runs it by itself. Any other looks from now on as if
  // it were such a one.
  const assignment = told.assignment;
  if (!assignment) return null;
  for (const path of assignment.closed) Deno.permissions.revokeSync({ name: "read", path });
  Deno.chdir(assignment.folder);
  separateCaches(assignment.module);
  Object.defineProperty(Deno, "mainModule", { value: assignment.module, enumerable: true, configurable: true });
  if (node) node.argv[1] = assignment.file;
  return assignment.module;
})();

if (assigned) {
  const { default: exported } = await import(assigned);
  if (exported && Object.hasOwn(exported, "fetch")) Deno.serve((request, info) => exported.fetch(request, info));
}
