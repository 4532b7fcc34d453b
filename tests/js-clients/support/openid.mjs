// A real OpenID provider beside the test, and a browser that is just enough to go there and back.

import { once } from "node:events";
import { createServer } from "node:http";

import Provider from "oidc-provider";

const client = { client_id: "plinth", client_secret: "a secret of the client" };

/**
 * Listens at once, so that its address is known; answers after `serve`.
 *
 * Its endpoints are where Keycloak has them, which is the built-in provider that may be anywhere.
 */
export async function listenAsProvider() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  /** Who signs in next; claims by scope are those of OpenID. */
  const person = { sub: "ann", email: "ann@mail.dev", email_verified: true, name: "Ann Lee" };
  return { url, client, person, serve, stop: () => server.close() };

  function serve(redirectUris) {
    const provider = new Provider(url, configuration(person, redirectUris));
    provider.on("server_error", (_, error) => console.error(error));
    const answer = provider.callback();
    server.on("request", async (request, response) => {
      if (!request.url.startsWith("/interaction/")) return answer(request, response);
      // Whoever comes is let in without being asked.
      const result = { login: { accountId: person.sub } };
      await provider.interactionFinished(request, response, result);
    });
  }
}

function configuration(person, redirectUris) {
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
    // The client asks for names and addresses in the ID token, too.
    conformIdTokenClaims: false,
    pkce: { required: () => false },
    cookies: { keys: ["a key that signs cookies"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...person, sub }) }),
    loadExistingGrant: consent,
  };
}

/** Everything that is asked for is granted. */
async function consent(context) {
  const { client: asking, session, provider, params } = context.oidc;
  const grant = new provider.Grant({ clientId: asking.clientId, accountId: session.accountId });
  grant.addOIDCScope(params.scope ?? "openid");
  await grant.save();
  return grant;
}

/** Follows redirects, with cookies, until one leads to `end`; that address. */
export async function browse(start, end) {
  const cookies = new Map();
  let url = start;
  for (let hops = 0; hops < 20; hops += 1) {
    if (url.startsWith(end)) return new URL(url);
    const sent = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie: sent } });
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = cookie.split(";")[0].split("=");
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (!location) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
    url = new URL(location, url).toString();
  }
  throw new Error(`${start} never ends`);
}
