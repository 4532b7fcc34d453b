// The OAuth server: other applications sign users in with their Plinth account.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";

import { newUser, site, startAccounts } from "../support/accounts.mjs";
import {
  connect,
  connectAsAdmin,
  decodeClaims,
  expectData,
  expectError,
  isSessionValid,
} from "./support.mjs";

const redirectUri = "http://127.0.0.1:4000/callback";

let plinth;
let apps;
before(async () => {
  plinth = await startAccounts({ "auth.oauth_server.enabled": true });
  apps = connectAsAdmin(plinth).auth.admin.oauth;
});
after(() => plinth?.stop());

const register = () => expectData(apps.createClient({ client_name: "Reader", redirect_uris: [redirectUri] }));

async function createUser() {
  const supabase = connect(plinth);
  const { user } = await expectData(supabase.auth.signUp(newUser()));
  return { supabase, user };
}

/** Starts an authorization; the consent page is on the site. */
async function authorize(app, scope = "openid email") {
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

/** Exchanges the code of the callback for tokens. */
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

  const read = await expectData(apps.getClient(app.client_id));
  assert.equal(read.client_secret, undefined);
  const changed = await expectData(apps.updateClient(app.client_id, { client_name: "Writer" }));
  assert.equal(changed.client_name, "Writer");
  const { client_secret: secret } = await expectData(apps.regenerateClientSecret(app.client_id));
  assert.ok(secret && secret !== app.client_secret);
  const { clients } = await expectData(apps.listClients({ perPage: 100 }));
  assert.ok(clients.some(({ client_id: id }) => id === app.client_id));

  await expectData(apps.deleteClient(app.client_id));
  assert.deepEqual(await expectError(apps.getClient(app.client_id)), [404, "oauth_client_not_found"]);
});

test("the user sees the client, consents, and the application gets its tokens", async () => {
  const app = await register();
  const { supabase, user } = await createUser();
  const { id, verifier } = await authorize(app);

  const details = await expectData(supabase.auth.oauth.getAuthorizationDetails(id));
  assert.equal(details.client.name, "Reader");
  assert.equal(details.user.id, user.id);
  assert.equal(details.scope, "openid email");
  const reply = await expectData(supabase.auth.oauth.approveAuthorization(id, { skipBrowserRedirect: true }));
  const target = new URL(reply.redirect_url);
  assert.equal(target.origin + target.pathname, redirectUri);
  assert.equal(target.searchParams.get("state"), "remember me");
  const tokens = await exchange(app, target.searchParams.get("code"), verifier);

  const claims = decodeClaims(tokens);
  assert.deepEqual([claims.sub, claims.client_id], [user.id, app.client_id]);
  assert.equal(decodeClaims({ access_token: tokens.id_token }).aud, app.client_id);
});

test("what was agreed to is remembered, listed, and taken back", async () => {
  const app = await register();
  const { supabase } = await createUser();
  const first = await authorize(app);
  await expectData(supabase.auth.oauth.getAuthorizationDetails(first.id));
  const reply = await expectData(
    supabase.auth.oauth.approveAuthorization(first.id, { skipBrowserRedirect: true }),
  );
  const code = new URL(reply.redirect_url).searchParams.get("code");
  const tokens = await exchange(app, code, first.verifier);

  const again = await expectData(supabase.auth.oauth.getAuthorizationDetails((await authorize(app)).id));
  assert.ok(again.redirect_url.startsWith(redirectUri));
  const grants = await expectData(supabase.auth.oauth.listGrants());
  assert.deepEqual(
    grants.map(({ client, scopes }) => [client.id, scopes]),
    [[app.client_id, ["openid", "email"]]],
  );
  await expectData(supabase.auth.oauth.revokeGrant({ clientId: app.client_id }));

  assert.deepEqual(await expectData(supabase.auth.oauth.listGrants()), []);
  assert.equal(await isSessionValid(plinth, tokens), false);
});

test("a rejection goes back to the application", async () => {
  const app = await register();
  const { supabase } = await createUser();
  const { id } = await authorize(app);
  await expectData(supabase.auth.oauth.getAuthorizationDetails(id));

  const reply = await expectData(supabase.auth.oauth.denyAuthorization(id, { skipBrowserRedirect: true }));

  const target = new URL(reply.redirect_url);
  assert.equal(target.searchParams.get("error"), "access_denied");
  assert.equal(target.searchParams.get("code"), null);
  assert.deepEqual(await expectData(supabase.auth.oauth.listGrants()), []);
});

test("another user's authorization request is not accessible", async () => {
  const app = await register();
  const [one, other] = [await createUser(), await createUser()];
  const { id } = await authorize(app);
  await expectData(one.supabase.auth.oauth.getAuthorizationDetails(id));

  const peek = other.supabase.auth.oauth.getAuthorizationDetails(id);
  assert.deepEqual(await expectError(peek), [404, "oauth_authorization_not_found"]);
  const steal = other.supabase.auth.oauth.approveAuthorization(id, { skipBrowserRedirect: true });
  assert.deepEqual(await expectError(steal), [404, "oauth_authorization_not_found"]);
});
