// The development server answers every path of the console with its page, like the real one.

/** Vite plugin for `npx vite`; builds do not have it. */
export function consoleFallback() {
  return {
    name: "plinth:console-fallback",
    apply: "serve",
    configureServer(server) {
      server.middlewares.use((request, _response, next) => {
        if (/^\/console(\/|\?|$)/.test(request.url ?? "")) request.url = "/console.html";
        next();
      });
    },
  };
}
