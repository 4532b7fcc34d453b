// Signing in through a real OpenID provider, with the published client.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { createClient } from "@supabase/supabase-js";

import { followRedirects, startOpenIdProvider } from "../support/openid.mjs";
import { startPlinth } from "../support/plinth.mjs";

const site = "http://localhost:3000";
const own = "http://127.0.0.1:1/own-callback";

let idp;
let plinth;
before(async () => {
  idp = await startOpenIdProvider();
  plinth = await startPlinth({ files: { "supabase/config.toml": config(idp) } });
  idp.serve([`${plinth.apiUrl}/auth/v1/callback`, own]);
});
after(async () => {
  await plinth?.stop();
  idp?.stop();
});
beforeEach(() => {
  const sub = `person-${Math.random()}`;
  Object.assign(idp.user, { sub, email: `${sub}@mail.dev`, email_verified: true });
});

function config({ url, client }) {
  return `
[auth]
site_url = "${site}"
enable_manual_linking = true

[auth.email]
enable_confirmations = false

[auth.external.keycloak]
enabled = true
client_id = "${client.client_id}"
secret = "${client.client_secret}"
url = "${url}"
`;
}

function connect(flowType) {
  const options = { auth: { flowType, persistSession: false, autoRefreshToken: false } };
  return createClient(plinth.apiUrl, plinth.keys.publishable, options);
}

/** Signs in at the provider; returns the URL that it redirects back to. */
async function signIn(supabase) {
  const { data, error } = await supabase.auth.signInWithOAuth({
    provider: "keycloak",
    options: { scopes: "openid", redirectTo: `${site}/in`, skipBrowserRedirect: true },
  });
  assert.equal(error, null);
  return followRedirects(data.url, site);
}

/** Gets an ID token directly from the provider. */
async function fetchIdToken(nonce) {
  const query = new URLSearchParams({
    client_id: idp.client.client_id,
    redirect_uri: own,
    response_type: "code",
    scope: "openid email profile",
    ...(nonce && { nonce }),
  });
  const back = await followRedirects(`${idp.url}/protocol/openid-connect/auth?${query}`, own);
  const { client_id, client_secret } = idp.client;
  const credentials = [client_id, client_secret].map(encodeURIComponent).join(":");
  const response = await fetch(`${idp.url}/protocol/openid-connect/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(credentials)}` },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: back.searchParams.get("code"),
      redirect_uri: own,
    }),
  });
  return (await response.json()).id_token;
}

test("a PKCE flow ends with a code that becomes a session", async () => {
  const supabase = connect("pkce");

  const target = await signIn(supabase);

  assert.equal(target.pathname, "/in");
  assert.equal(target.hash, "");
  const code = target.searchParams.get("code");
  const { data, error } = await supabase.auth.exchangeCodeForSession(code);
  assert.equal(error, null);
  assert.equal(data.user.email, idp.user.email);
  assert.equal(data.user.user_metadata.full_name, "Ann Lee");
  assert.equal(data.user.app_metadata.provider, "keycloak");
  assert.ok(data.session.provider_token);
});

test("an implicit flow ends with a session in the fragment", async () => {
  const supabase = connect("implicit");

  const target = await signIn(supabase);

  const fragment = new URLSearchParams(target.hash.slice(1));
  const { data, error } = await supabase.auth.setSession({
    access_token: fragment.get("access_token"),
    refresh_token: fragment.get("refresh_token"),
  });
  assert.equal(error, null);
  assert.equal(data.user.email, idp.user.email);
});

test("an identity is linked, listed and unlinked", async () => {
  const supabase = connect("pkce");
  const email = `with-password-${Math.random()}@mail.dev`;
  const signedUp = await supabase.auth.signUp({ email, password: "correct horse" });
  assert.equal(signedUp.error, null);

  const started = await supabase.auth.linkIdentity({
    provider: "keycloak",
    options: { scopes: "openid", redirectTo: site, skipBrowserRedirect: true },
  });
  assert.equal(started.error, null);
  const target = await followRedirects(started.data.url, site);
  const linked = await supabase.auth.exchangeCodeForSession(target.searchParams.get("code"));
  assert.equal(linked.error, null);
  assert.equal(linked.data.user.id, signedUp.data.user.id);

  const { data } = await supabase.auth.getUserIdentities();
  assert.deepEqual(data.identities.map(({ provider }) => provider).sort(), ["email", "keycloak"]);
  const identity = data.identities.find(({ provider }) => provider === "keycloak");
  const unlinked = await supabase.auth.unlinkIdentity(identity);
  assert.equal(unlinked.error, null);
  const rest = await supabase.auth.getUserIdentities();
  assert.deepEqual(rest.data.identities.map(({ provider }) => provider), ["email"]);
  const rejected = await supabase.auth.unlinkIdentity(rest.data.identities[0]);
  assert.equal(rejected.error.code, "single_identity_not_deletable");
});

test("an ID token signs in, once its nonce is shown", async () => {
  const supabase = connect("implicit");
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("made up"));
  const token = await fetchIdToken(Buffer.from(hash).toString("hex"));

  const without = await supabase.auth.signInWithIdToken({ provider: "keycloak", token });
  assert.equal(without.error.status, 400);
  const nonce = "made up";
  const { data, error } = await supabase.auth.signInWithIdToken({ provider: "keycloak", token, nonce });
  assert.equal(error, null);
  assert.equal(data.user.email, idp.user.email);
});

test("an ID token links its identity to the signed-in user", async () => {
  const supabase = connect("implicit");
  const email = `with-password-${Math.random()}@mail.dev`;
  const signedUp = await supabase.auth.signUp({ email, password: "correct horse" });
  assert.equal(signedUp.error, null);

  const { data, error } = await supabase.auth.linkIdentity({ provider: "keycloak", token: await fetchIdToken() });

  assert.equal(error, null);
  assert.equal(data.user.id, signedUp.data.user.id);
  assert.deepEqual(data.user.identities.map(({ provider }) => provider).sort(), ["email", "keycloak"]);
});

test("an error of the provider reaches the site", async () => {
  const { data } = await connect("pkce").auth.signInWithOAuth({
    provider: "keycloak",
    options: { scopes: "openid", queryParams: { prompt: "none" }, skipBrowserRedirect: true },
  });

  const target = await followRedirects(data.url, site);

  assert.equal(target.searchParams.get("error"), "login_required");
  assert.match(target.hash, /error=login_required/);
});
