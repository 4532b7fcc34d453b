// Other applications let people sign in with their accounts here.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";

import { site, somebody, startAccounts } from "../support/accounts.mjs";
import { claimsOf, connect, connectAsAdmin, done, isAlive, refusal } from "./support.mjs";

const redirectUri = "http://127.0.0.1:4000/callback";

let plinth;
let apps;
before(async () => {
  plinth = await startAccounts({ "auth.oauth_server.enabled": true });
  apps = connectAsAdmin(plinth).auth.admin.oauth;
});
after(() => plinth?.stop());

const register = () => done(apps.createClient({ client_name: "Reader", redirect_uris: [redirectUri] }));

async function member() {
  const supabase = connect(plinth);
  const { user } = await done(supabase.auth.signUp(somebody()));
  return { supabase, user };
}

/** The application sends a browser here; we are asked on the site. */
async function ask(app, scope = "openid email") {
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    client_id: app.client_id,
    redirect_uri: redirectUri,
    response_type: "code",
    scope,
    state: "remember me",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const response = await fetch(`${plinth.apiUrl}/auth/v1/oauth/authorize?${query}`, { redirect: "manual" });
  assert.equal(response.status, 302);
  const page = new URL(response.headers.get("location"));
  assert.equal(page.origin + page.pathname, `${site}/oauth/consent`);
  return { id: page.searchParams.get("authorization_id"), verifier };
}

/** The application exchanges the code of its callback. */
async function exchange(app, code, verifier) {
  const response = await fetch(`${plinth.apiUrl}/auth/v1/oauth/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${app.client_id}:${app.client_secret}`)}` },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    }),
  });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

test("an application is registered, read, changed, given a new secret and removed", async () => {
  const app = await register();
  assert.ok(app.client_secret);
  assert.deepEqual(
    [app.client_name, app.client_type, app.registration_type, app.redirect_uris],
    ["Reader", "confidential", "manual", [redirectUri]],
  );

  const read = await done(apps.getClient(app.client_id));
  assert.equal(read.client_secret, undefined);
  const changed = await done(apps.updateClient(app.client_id, { client_name: "Writer" }));
  assert.equal(changed.client_name, "Writer");
  const { client_secret: secret } = await done(apps.regenerateClientSecret(app.client_id));
  assert.ok(secret && secret !== app.client_secret);
  const { clients } = await done(apps.listClients({ perPage: 100 }));
  assert.ok(clients.some(({ client_id: id }) => id === app.client_id));

  await done(apps.deleteClient(app.client_id));
  assert.deepEqual(await refusal(apps.getClient(app.client_id)), [404, "oauth_client_not_found"]);
});

test("whoever is asked sees by whom, agrees, and the application gets its tokens", async () => {
  const app = await register();
  const { supabase, user } = await member();
  const { id, verifier } = await ask(app);

  const details = await done(supabase.auth.oauth.getAuthorizationDetails(id));
  assert.equal(details.client.name, "Reader");
  assert.equal(details.user.id, user.id);
  assert.equal(details.scope, "openid email");
  const answer = await done(supabase.auth.oauth.approveAuthorization(id, { skipBrowserRedirect: true }));
  const landed = new URL(answer.redirect_url);
  assert.equal(landed.origin + landed.pathname, redirectUri);
  assert.equal(landed.searchParams.get("state"), "remember me");
  const tokens = await exchange(app, landed.searchParams.get("code"), verifier);

  const claims = claimsOf(tokens);
  assert.deepEqual([claims.sub, claims.client_id], [user.id, app.client_id]);
  assert.equal(claimsOf({ access_token: tokens.id_token }).aud, app.client_id);
});

test("what was agreed to is remembered, listed, and taken back", async () => {
  const app = await register();
  const { supabase } = await member();
  const first = await ask(app);
  await done(supabase.auth.oauth.getAuthorizationDetails(first.id));
  const answer = await done(
    supabase.auth.oauth.approveAuthorization(first.id, { skipBrowserRedirect: true }),
  );
  const code = new URL(answer.redirect_url).searchParams.get("code");
  const tokens = await exchange(app, code, first.verifier);

  const again = await done(supabase.auth.oauth.getAuthorizationDetails((await ask(app)).id));
  assert.ok(again.redirect_url.startsWith(redirectUri));
  const grants = await done(supabase.auth.oauth.listGrants());
  assert.deepEqual(
    grants.map(({ client, scopes }) => [client.id, scopes]),
    [[app.client_id, ["openid", "email"]]],
  );
  await done(supabase.auth.oauth.revokeGrant({ clientId: app.client_id }));

  assert.deepEqual(await done(supabase.auth.oauth.listGrants()), []);
  assert.equal(await isAlive(plinth, tokens), false);
});

test("a refusal goes back to the application", async () => {
  const app = await register();
  const { supabase } = await member();
  const { id } = await ask(app);
  await done(supabase.auth.oauth.getAuthorizationDetails(id));

  const answer = await done(supabase.auth.oauth.denyAuthorization(id, { skipBrowserRedirect: true }));

  const landed = new URL(answer.redirect_url);
  assert.equal(landed.searchParams.get("error"), "access_denied");
  assert.equal(landed.searchParams.get("code"), null);
  assert.deepEqual(await done(supabase.auth.oauth.listGrants()), []);
});

test("a question to somebody else stays theirs", async () => {
  const app = await register();
  const [one, other] = [await member(), await member()];
  const { id } = await ask(app);
  await done(one.supabase.auth.oauth.getAuthorizationDetails(id));

  const peek = other.supabase.auth.oauth.getAuthorizationDetails(id);
  assert.deepEqual(await refusal(peek), [404, "oauth_authorization_not_found"]);
  const steal = other.supabase.auth.oauth.approveAuthorization(id, { skipBrowserRedirect: true });
  assert.deepEqual(await refusal(steal), [404, "oauth_authorization_not_found"]);
});
