// A real OpenID provider in the test process, and a minimal browser that follows its redirects.

import { once } from "node:events";
import { createServer } from "node:http";

import Provider from "oidc-provider";

const client = { client_id: "plinth", client_secret: "a secret of the client" };

/**
 * Listens at once, so that its URL is known; handles requests after `serve`.
 *
 * The endpoint paths are Keycloak's, the built-in provider with a configurable URL.
 */
export async function startOpenIdProvider() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  /** Claims of the user who signs in next. */
  const user = { sub: "ann", email: "ann@mail.dev", email_verified: true, name: "Ann Lee" };
  return { url, client, user, serve, stop: () => server.close() };

  function serve(redirectUris) {
    const provider = new Provider(url, configuration(user, redirectUris));
    provider.on("server_error", (_, error) => console.error(error));
    const handleRequest = provider.callback();
    server.on("request", async (request, response) => {
      if (!request.url.startsWith("/interaction/")) return handleRequest(request, response);
      // Sign the user in without a login form.
      const result = { login: { accountId: user.sub } };
      await provider.interactionFinished(request, response, result);
    });
  }
}

function configuration(user, redirectUris) {
  const path = "/protocol/openid-connect";
  return {
    clients: [{ ...client, redirect_uris: redirectUris }],
    routes: {
      authorization: `${path}/auth`,
      token: `${path}/token`,
      userinfo: `${path}/userinfo`,
    },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    scopes: ["openid", "email", "profile"],
    // Include profile and e-mail claims in the ID token.
    conformIdTokenClaims: false,
    pkce: { required: () => false },
    cookies: { keys: ["a key that signs cookies"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...user, sub }) }),
    loadExistingGrant: grantAll,
  };
}

/** Grants every requested scope. */
async function grantAll(context) {
  const { client: oauthClient, session, provider, params } = context.oidc;
  const grant = new provider.Grant({ clientId: oauthClient.clientId, accountId: session.accountId });
  grant.addOIDCScope(params.scope ?? "openid");
  await grant.save();
  return grant;
}

/** Follows redirects, with cookies, up to a URL that starts with `end`; returns that URL. */
export async function followRedirects(start, end) {
  const cookies = new Map();
  let url = start;
  for (let hops = 0; hops < 20; hops += 1) {
    if (url.startsWith(end)) return new URL(url);
    const cookieHeader = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie: cookieHeader } });
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = cookie.split(";")[0].split("=");
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (!location) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
    url = new URL(location, url).toString();
  }
  throw new Error(`too many redirects from ${start}`);
}
