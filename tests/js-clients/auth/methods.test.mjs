// Every method of the published auth client is called by the test file that this table names. A method that
// a later version adds fails here until it has a test.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { createClient } from "@supabase/supabase-js";

const files = {
  "sign-up": ["signUp", "signInAnonymously", "verifyOtp", "resend", "exchangeCodeForSession"],
  mails: ["signInWithOtp", "resetPasswordForEmail", "reauthenticate", "updateUser", "setSession"],
  phone: ["getUserIdentities"],
  sessions: [
    "initialize",
    "signInWithPassword",
    "getSession",
    "getUser",
    "getClaims",
    "refreshSession",
    "signOut",
    "onAuthStateChange",
    "startAutoRefresh",
    "stopAutoRefresh",
    "dispose",
    "isThrowOnErrorEnabled",
  ],
  oauth: ["signInWithOAuth", "signInWithIdToken", "linkIdentity", "unlinkIdentity"],
  "disabled-methods": [
    "signInWithSSO",
    "signInWithWeb3",
    "mfa.recoveryCodes.getStatus",
    "mfa.recoveryCodes.generate",
    "mfa.recoveryCodes.verify",
    "mfa.recoveryCodes.regenerate",
    "mfa.recoveryCodes.unenroll",
  ],
  mfa: [
    "mfa.enroll",
    "mfa.challenge",
    "mfa.verify",
    "mfa.challengeAndVerify",
    "mfa.unenroll",
    "mfa.listFactors",
    "mfa.getAuthenticatorAssuranceLevel",
    "admin.mfa.listFactors",
    "admin.mfa.deleteFactor",
  ],
  admin: [
    "admin.createUser",
    "admin.listUsers",
    "admin.getUserById",
    "admin.updateUserById",
    "admin.deleteUser",
    "admin.inviteUserByEmail",
    "admin.generateLink",
    "admin.signOut",
  ],
  "oauth-server": [
    "oauth.getAuthorizationDetails",
    "oauth.approveAuthorization",
    "oauth.denyAuthorization",
    "oauth.listGrants",
    "oauth.revokeGrant",
    "admin.oauth.listClients",
    "admin.oauth.createClient",
    "admin.oauth.getClient",
    "admin.oauth.updateClient",
    "admin.oauth.deleteClient",
    "admin.oauth.regenerateClientSecret",
  ],
  "custom-providers": [
    "admin.customProviders.listProviders",
    "admin.customProviders.createProvider",
    "admin.customProviders.getProvider",
    "admin.customProviders.updateProvider",
    "admin.customProviders.deleteProvider",
  ],
  "../../browser/passkeys": [
    "registerPasskey",
    "signInWithPasskey",
    "passkey.startRegistration",
    "passkey.verifyRegistration",
    "passkey.startAuthentication",
    "passkey.verifyAuthentication",
    "passkey.list",
    "passkey.update",
    "passkey.delete",
    "admin.passkey.listPasskeys",
    "admin.passkey.deletePasskey",
  ],
  "../../browser/security-keys": [
    "mfa.webauthn.enroll",
    "mfa.webauthn.challenge",
    "mfa.webauthn.verify",
    "mfa.webauthn.register",
    "mfa.webauthn.authenticate",
  ],
};

/** Private in the package's types, but visible in JavaScript. */
const internal = [
  "fetch",
  "logger",
  "fetchJwk",
  "linkIdentityOAuth",
  "linkIdentityIdToken",
  "signInWithEthereum",
  "signInWithSolana",
  "admin.fetch",
];

const groups = [
  "mfa",
  "mfa.webauthn",
  "mfa.recoveryCodes",
  "oauth",
  "passkey",
  "admin",
  "admin.mfa",
  "admin.oauth",
  "admin.customProviders",
  "admin.passkey",
];

/** All methods, including those of nested groups. */
function* methods(owner, prefix = "") {
  const names = new Set();
  for (let level = owner; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Object.getOwnPropertyNames(level)) names.add(name);
  }
  for (const name of names) {
    if (name.startsWith("_") || name === "constructor") continue;
    if (typeof owner[name] === "function") yield prefix + name;
    else if (groups.includes(prefix + name)) yield* methods(owner[name], `${prefix}${name}.`);
  }
}

const { auth } = createClient("http://127.0.0.1:1", "key", {
  auth: { persistSession: false, autoRefreshToken: false },
});

test("no method is left out, and none is made up", () => {
  const known = [...methods(auth)].filter((name) => !internal.includes(name));

  assert.deepEqual(Object.values(files).flat().sort(), known.sort());
});

test("no group of methods is left out", () => {
  const isGroup = (value) =>
    typeof value === "object" && Object.values(value ?? {}).some((member) => typeof member === "function");
  const found = (owner, prefix) =>
    Object.keys(owner)
      .filter((name) => isGroup(owner[name]) && name !== "storage")
      .map((name) => prefix + name);

  for (const group of [...found(auth, ""), ...found(auth.mfa, "mfa."), ...found(auth.admin, "admin.")]) {
    assert.ok(groups.includes(group), group);
  }
});

test("every file calls what it is named for", async () => {
  for (const [file, names] of Object.entries(files)) {
    const text = await readFile(new URL(`${file}.test.mjs`, import.meta.url), "utf8");
    for (const name of names) {
      assert.ok(text.includes(`.${name.split(".").at(-1)}(`), `${file} does not call ${name}`);
    }
  }
});
