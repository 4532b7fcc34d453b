// A simulated browser: a cookie jar, shared by requests to the Rust application and the published client.

import { createBrowserClient, createServerClient } from "@supabase/ssr";

export class Browser {
  #cookies = new Map();

  /** @param app The Rust application. @param plinth The project that both sides use. */
  constructor(app, plinth) {
    this.app = app;
    this.plinth = plinth;
  }

  /** The published client, as a JavaScript server creates it for one request. */
  client(options = {}) {
    const { cookies = {}, ...rest } = options;
    return createServerClient(this.plinth.apiUrl, this.plinth.keys.publishable, {
      ...rest,
      cookies: { ...this.#cookieMethods, ...cookies },
    });
  }

  /** The published client, as a page creates it; it writes all cookies of a session each time. */
  pageClient() {
    return createBrowserClient(this.plinth.apiUrl, this.plinth.keys.publishable, {
      isSingleton: false,
      auth: { autoRefreshToken: false },
      cookies: this.#cookieMethods,
    });
  }

  get #cookieMethods() {
    return {
      getAll: () =>
        [...this.#cookies].map(([name, value]) => ({ name, value: decodeURIComponent(value) })),
      setAll: (list) => {
        for (const { name, value, options: { maxAge } } of list) {
          this.#set(name, encodeURIComponent(value), maxAge === 0);
        }
      },
    };
  }

  /** GET to the Rust application, without following redirects. */
  async get(path) {
    return this.#send(path, { headers: { accept: "text/html" } });
  }

  /** Submits a form of the application. */
  async post(path, fields = {}) {
    const headers = { origin: this.app.url };
    return this.#send(path, { method: "POST", headers, body: new URLSearchParams(fields) });
  }

  /** The user id according to the Rust application, or null. */
  async rustUserId() {
    const response = await this.get("/private");
    if (response.status === 303) return null;
    const text = await response.text();
    return /<b id="user">([^<]+)<\/b>/.exec(text)[1];
  }

  /** The user id according to the published client, which asks the server. */
  async jsUserId() {
    const { data } = await this.client().auth.getUser();
    return data.user?.id ?? null;
  }

  /** Names of the session cookies, sorted by chunk number. */
  get chunkNames() {
    const names = [...this.#cookies.keys()].filter((name) => /-auth-token(\.\d+)?$/.test(name));
    return names.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  }

  get cookieHeader() {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  get cookieNames() {
    return [...this.#cookies.keys()];
  }

  /** The session in the cookies. */
  get session() {
    const text = this.chunkNames.map((name) => decodeURIComponent(this.#cookies.get(name))).join("");
    if (!text) return null;
    const json = text.startsWith("base64-") ? Buffer.from(text.slice(7), "base64url") : text;
    return JSON.parse(json);
  }

  async #send(path, init) {
    const cookie = this.cookieHeader;
    const headers = { ...init.headers, ...(cookie && { cookie }) };
    const response = await fetch(new URL(path, this.app.url), { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      this.#set(name, value, line.includes("Max-Age=0;"));
    }
    return response;
  }

  #set(name, value, isRemoval) {
    if (isRemoval) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}
