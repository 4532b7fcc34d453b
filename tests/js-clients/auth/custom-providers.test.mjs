// Custom OAuth providers, configured through the admin API.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { site, startAccounts } from "../support/accounts.mjs";
import { connect, connectAsAdmin, expectData, expectError } from "./support.mjs";

const described = {
  provider_type: "oauth2",
  identifier: "custom:guild",
  name: "The guild",
  client_id: "plinth",
  client_secret: "a secret of the client",
  scopes: ["profile"],
  authorization_url: "https://guild.example/authorize",
  token_url: "https://guild.example/token",
  userinfo_url: "https://guild.example/me",
};

let plinth;
let providers;
before(async () => {
  // Nothing listens at these URLs, which a public server would resolve first.
  plinth = await startAccounts({ "plinth.auth.custom_providers.allow_local_urls": true });
  providers = connectAsAdmin(plinth).auth.admin.customProviders;
});
after(() => plinth?.stop());

test("a provider is described, used, changed and removed", async () => {
  const { client_secret: secret, ...shown } = described;

  const created = await expectData(providers.createProvider(described));
  for (const [name, value] of Object.entries(shown)) assert.deepEqual(created[name], value, name);
  assert.ok(!JSON.stringify(created).includes(secret));
  assert.deepEqual(await expectError(providers.createProvider(described)), [400, "conflict"]);

  const url = await authorizationUrl();
  assert.equal(url.origin + url.pathname, described.authorization_url);
  assert.equal(url.searchParams.get("client_id"), "plinth");
  assert.equal(url.searchParams.get("redirect_uri"), `${plinth.apiUrl}/auth/v1/callback`);

  await expectData(providers.updateProvider("custom:guild", { name: "Our guild", enabled: false }));
  const read = await expectData(providers.getProvider("custom:guild"));
  assert.deepEqual([read.name, read.enabled, read.client_id], ["Our guild", false, "plinth"]);
  const lists = [
    await expectData(providers.listProviders()),
    await expectData(providers.listProviders({ type: "oidc" })),
  ];
  assert.deepEqual(
    lists.map((list) => list.providers.map(({ identifier }) => identifier)),
    [["custom:guild"], []],
  );
  assert.equal(await authorizationUrl(), undefined);

  await expectData(providers.deleteProvider("custom:guild"));
  assert.deepEqual(await expectError(providers.getProvider("custom:guild")), [
    404,
    "custom_provider_not_found",
  ]);
});

/** The URL that the sign-in redirects to. */
async function authorizationUrl() {
  const { url } = await expectData(
    connect(plinth).auth.signInWithOAuth({
      provider: "custom:guild",
      options: { redirectTo: site, skipBrowserRedirect: true },
    }),
  );
  const response = await fetch(url, { redirect: "manual" });
  const location = response.headers.get("location");
  return location ? new URL(location) : undefined;
}

test("what is no provider is rejected", async () => {
  const open = { ...described, identifier: "custom:open", token_url: "http://guild.example/token" };
  const unnamed = { ...described, identifier: "guild" };

  assert.deepEqual(await expectError(providers.createProvider(open)), [400, "validation_failed"]);
  assert.deepEqual(await expectError(providers.createProvider(unnamed)), [400, "validation_failed"]);
});
