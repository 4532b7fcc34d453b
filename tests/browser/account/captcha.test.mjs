// Projects that ask for a captcha (client contract U12). The provider's script and its judgement are the
// test's own, because the real ones are meant to keep tests out.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";

import { somebody } from "../../js-clients/support/accounts.mjs";
import { alerts, field, heading, openAccount, signIn } from "../support/account.mjs";

/** Where each has its script, and how its widget waits until it is asked. */
const providers = {
  turnstile: {
    script: "https://challenges.cloudflare.com/turnstile/v0/api.js",
    widget: { execution: "execute", appearance: "interaction-only" },
  },
  hcaptcha: { script: "https://js.hcaptcha.com/1/api.js", widget: { size: "invisible" } },
};

/** Hands out the token that the test wants next; each only once. */
const scriptOf = (name) => `
  let count = 0;
  let options;
  globalThis.widgets = [];
  globalThis.${name} = {
    render: (place, given) => {
      options = given;
      place.textContent = "a check";
      const { sitekey, execution, appearance, size } = given;
      widgets.push(JSON.stringify({ sitekey, execution, appearance, size }));
      return "widget " + widgets.length;
    },
    execute: () => {
      if (globalThis.nextToken === "closed") options["close-callback"]();
      else if (globalThis.nextToken === "broken") options["error-callback"]();
      else options.callback((globalThis.nextToken ?? "good") + "-" + ++count);
    },
    remove: () => {},
  };
`;

for (const [name, { script, widget }] of Object.entries(providers)) {
  describe(name, () => {
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
        "auth.captcha.provider": name,
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
      await page.route(`${script}*`, (route) =>
        route.fulfill({ contentType: "text/javascript", body: scriptOf(name) }),
      );
      await page.goto(account.url + path);
      return page;
    }
    const failed = "The check failed. Please try it again.";
    const next = (page, token) => page.evaluate((wanted) => (globalThis.nextToken = wanted), token);

    test("each attempt brings a token of its own", async () => {
      const who = await account.member();
      const page = await visit("/sign-in");
      await signIn(page, { ...who, password: "wrong" });
      await alerts(page, "E-mail or password is wrong.");
      await signIn(page, who);

      await heading(page, "Profile");
      assert.deepEqual(tokens.slice(-2), ["good-1", "good-2"]);
      const expected = JSON.stringify({ sitekey: "public key", ...widget });
      assert.deepEqual(await page.evaluate(() => globalThis.widgets), [expected, expected]);
    });

    test("a check that fails, breaks or is closed can be taken again", async () => {
      const page = await visit("/forgot-password");
      const send = page.getByRole("button", { name: "Send reset link" });
      for (const token of ["bad", "broken", "closed"]) {
        await next(page, token);
        await field(page, "E-mail").fill(`${token}@mail.dev`);
        await page.getByRole("alert").waitFor({ state: "detached" });
        await send.click();
        await alerts(page, failed);
        assert.equal(await field(page, "E-mail").inputValue(), `${token}@mail.dev`);
      }
      await next(page, "good-later");
      await send.click();
      await heading(page, "Check your mail");
    });

    test("everything that asks for a mail or an account brings one", async () => {
      const who = somebody();
      const page = await visit("/sign-up");
      await next(page, `good-${who.email}`);
      await field(page, "E-mail").fill(who.email);
      await field(page, "Password").fill(who.password);
      await page.getByRole("button", { name: "Create account" }).click();
      await heading(page, "Check your mail");
      await page.getByRole("button", { name: "Send a new code" }).click();
      await page.getByRole("button", { name: /in \d+ s/ }).waitFor();
      await page.goto(`${account.url}/sign-in/code`);
      await next(page, `good-too-${who.email}`);
      await field(page, "E-mail").fill(who.email);
      await page.getByRole("button", { name: "Send code" }).click();
      await heading(page, "Check your mail");
      const given = [`good-${who.email}-1`, `good-${who.email}-2`, `good-too-${who.email}-1`];
      assert.deepEqual(tokens.slice(-3), given);
    });

    test("without the provider nothing is sent, and the page says so", async () => {
      const page = await account.visit("/sign-in");
      await page.route(`${script}*`, (route) => route.abort());
      await signIn(page, await account.member());
      await alerts(page, failed);
    });
  });
}
