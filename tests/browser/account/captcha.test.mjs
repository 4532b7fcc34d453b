// Projects that ask for a captcha. The provider's script and its judgement are the test's own, because
// the real ones are meant to keep tests out.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";

import { alerts, field, heading, openAccount, signIn } from "../support/account.mjs";

/** Hands out the token that the test wants next; each only once. */
const script = `
  let count = 0;
  let options;
  globalThis.turnstile = {
    render: (place, given) => { options = given; place.textContent = "a check"; return "widget"; },
    execute: () => options.callback((globalThis.nextToken ?? "good") + "-" + ++count),
    remove: () => {},
  };
`;

let checker;
let account;
const tokens = [];
before(async () => {
  checker = createServer(async (request, response) => {
    const token = new URLSearchParams(await text(request)).get("response");
    const success = token.startsWith("good") && !tokens.includes(token);
    tokens.push(token);
    response.setHeader("content-type", "application/json").end(JSON.stringify({ success }));
  });
  checker.listen(0, "127.0.0.1");
  await once(checker, "listening");
  account = await openAccount({
    "auth.captcha.enabled": true,
    "auth.captcha.provider": "turnstile",
    "auth.captcha.secret": "for tests only",
    "plinth.account.captcha_key": "public key",
    "plinth.auth.captcha.url": `http://127.0.0.1:${checker.address().port}/`,
  });
});
after(async () => {
  await account?.stop();
  checker?.close();
});

async function visit(path) {
  const page = await account.visit("/signed-out");
  await page.route("https://challenges.cloudflare.com/**", (route) =>
    route.fulfill({ contentType: "text/javascript", body: script }),
  );
  await page.goto(account.url + path);
  return page;
}

test("each attempt brings a token of its own", async () => {
  const who = await account.member();
  const page = await visit("/sign-in");
  await signIn(page, { ...who, password: "wrong" });
  await alerts(page, "E-mail or password is wrong.");
  await signIn(page, who);

  await heading(page, "Profile");
  assert.deepEqual(tokens.slice(-2), ["good-1", "good-2"]);
});

test("a check that fails can be taken again", async () => {
  const page = await visit("/forgot-password");
  await page.evaluate(() => (globalThis.nextToken = "bad"));
  await field(page, "E-mail").fill("ann@mail.dev");
  await page.getByRole("button", { name: "Send reset link" }).click();
  await alerts(page, "The check failed. Please try it again.");
  await page.evaluate(() => (globalThis.nextToken = "good-later"));
  await page.getByRole("button", { name: "Send reset link" }).click();
  await heading(page, "Check your mail");
});

test("without the provider nothing is sent, and the page says so", async () => {
  const page = await account.visit("/sign-in");
  await page.route("https://challenges.cloudflare.com/**", (route) => route.abort());
  await signIn(page, await account.member());
  await alerts(page, "The check failed. Please try it again.");
});
