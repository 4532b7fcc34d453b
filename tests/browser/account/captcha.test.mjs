// Projects with a CAPTCHA (client contract U12). The provider's script and its verification are fakes, because
// the real ones are made to reject automated tests.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";

import { newUser } from "../../js-clients/support/accounts.mjs";
import {
  auditScreen,
  field,
  heading,
  openAccount,
  signIn,
  waitForAlert,
  waitForText,
} from "../support/account.mjs";

/**
 * By provider: script URL, expected widget options, and the callbacks for an expired challenge or token.
 */
const providers = {
  turnstile: {
    script: "https://challenges.cloudflare.com/turnstile/v0/api.js",
    widget: {
      execution: "execute",
      appearance: "interaction-only",
      retry: "never",
      "refresh-expired": "never",
      "refresh-timeout": "never",
    },
    late: ["expired-callback", "timeout-callback"],
  },
  hcaptcha: {
    script: "https://js.hcaptcha.com/1/api.js",
    widget: { size: "invisible" },
    late: ["expired-callback", "chalexpired-callback"],
  },
};

/** A fake provider script that returns the tokens of the test, each once. */
const scriptOf = (name) => `
  let count = 0;
  let options;
  let shownAt;
  globalThis.widgets = [];
  globalThis.${name} = {
    render: (place, given) => {
      options = given;
      shownAt = place;
      place.textContent = "a check";
      widgets.push(Object.fromEntries(Object.entries(given).filter(([, value]) => typeof value === "string")));
      return "widget " + widgets.length;
    },
    execute: () => {
      const wanted = globalThis.nextToken ?? "good";
      if (wanted === "closed") options["close-callback"]();
      else if (wanted === "broken") globalThis.isHandled = options["error-callback"]("300030");
      else if (wanted === "thrown") throw new Error("no widget");
      else if (wanted.endsWith("-callback")) options[wanted]();
      else if (wanted !== "never") options.callback(wanted + "-" + ++count);
    },
    remove: () => (shownAt.textContent = ""),
  };
`;

for (const [name, { script, widget, late }] of Object.entries(providers)) {
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
        "auth.passkey.enabled": true,
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
    const ranOut = "The check ran out of time. Please try it again.";
    const next = (page, token) => page.evaluate((wanted) => (globalThis.nextToken = wanted), token);

    test("each attempt brings a token of its own", async () => {
      const user = await account.createUser();
      const page = await visit("/sign-in");
      await signIn(page, { ...user, password: "wrong" });
      await waitForAlert(page, "E-mail or password is wrong.");
      await signIn(page, user);

      await heading(page, "Profile");
      assert.deepEqual(tokens.slice(-2), ["good-1", "good-2"]);
      const expected = { sitekey: "public key", ...widget };
      assert.deepEqual(await page.evaluate(() => globalThis.widgets), [expected, expected]);
    });

    test("a check that fails, breaks or is closed can be taken again", async () => {
      const page = await visit("/forgot-password");
      const send = page.getByRole("button", { name: "Send reset link" });
      for (const token of ["bad", "broken", "closed", "thrown"]) {
        await next(page, token);
        await field(page, "E-mail").fill(`${token}@mail.dev`);
        await page.getByRole("alert").waitFor({ state: "detached" });
        await send.click();
        await waitForAlert(page, failed);
        assert.equal(await field(page, "E-mail").inputValue(), `${token}@mail.dev`);
        assert.equal(await page.getByText("a check", { exact: true }).count(), 0, token);
      }
      assert.equal(await page.evaluate(() => globalThis.isHandled), true);
      await next(page, "good-later");
      await send.click();
      await heading(page, "Check your mail");
    });

    test("a check that waited too long is thrown away, and the next attempt asks for another", async () => {
      const page = await visit("/forgot-password");
      const send = page.getByRole("button", { name: "Send reset link" });
      for (const [index, callback] of late.entries()) {
        await next(page, callback);
        await field(page, "E-mail").fill(`late${index}@mail.dev`);
        await page.getByRole("alert").waitFor({ state: "detached" });
        await send.click();
        await waitForAlert(page, ranOut);
        if (index === 0) await auditScreen(page, `captcha-late-${name}`);
        assert.equal(await page.getByText("a check", { exact: true }).count(), 0, callback);
      }
      await next(page, `good-after-${name}`);
      await send.click();
      await heading(page, "Check your mail");
      assert.equal(await page.evaluate(() => globalThis.widgets.length), late.length + 1);
      assert.equal(tokens.at(-1), `good-after-${name}-1`);
    });

    test("a new submit does not wait for the previous check", async () => {
      const user = await account.createUser();
      const page = await visit("/sign-in");
      await next(page, "never");
      await page.getByRole("button", { name: "Use a passkey" }).click();
      await waitForText(page, "a check");
      await next(page, `good-instead-${name}`);
      await signIn(page, { ...user, password: "wrong" });
      await waitForAlert(page, "E-mail or password is wrong.");
      await waitForText(page, "No passkey was used.");
      assert.ok(await page.getByRole("button", { name: "Use a passkey" }).isEnabled());
      assert.equal(tokens.at(-1), `good-instead-${name}-1`);
    });

    test("a mail about a new address brings one, too", async () => {
      const { email } = newUser("new");
      const user = await account.createUser();
      const page = await visit("/sign-in?next=/account/email");
      await next(page, `good-in-${name}`);
      await signIn(page, user);
      await heading(page, "Change your e-mail");
      await field(page, "New e-mail").fill(email);
      await page.getByRole("button", { name: "Change e-mail" }).click();
      await page.getByRole("heading", { name: "Confirm from both addresses" }).waitFor();
      await next(page, "broken");
      await page.getByRole("button", { name: "Send a new code" }).click();
      await waitForAlert(page, failed);
      await next(page, `good-again-${name}`);
      await page.getByRole("button", { name: "Send a new code" }).click();
      await page.getByRole("button", { name: /in \d+ s/ }).waitFor();
      assert.equal(tokens.at(-1), `good-again-${name}-2`);
    });

    test("everything that asks for a mail or an account brings one", async () => {
      const user = newUser();
      const page = await visit("/sign-up");
      await page.clock.install();
      await next(page, `good-${user.email}`);
      await field(page, "E-mail").fill(user.email);
      await field(page, "Password").fill(user.password);
      await page.getByRole("button", { name: "Create account" }).click();
      await heading(page, "Check your mail");
      await page.clock.fastForward(60_000);
      await page.getByRole("button", { name: "Send a new code", exact: true }).click();
      await waitForText(page, "Sent.");
      await page.goto(`${account.url}/sign-in/code`);
      await next(page, `good-too-${user.email}`);
      await field(page, "E-mail").fill(user.email);
      await page.getByRole("button", { name: "Send code" }).click();
      await heading(page, "Check your mail");
      const given = [`good-${user.email}-1`, `good-${user.email}-2`, `good-too-${user.email}-1`];
      assert.deepEqual(tokens.slice(-3), given);
    });

    test("without the provider nothing is sent, and the page says so", async () => {
      const page = await account.visit("/sign-in");
      await page.route(`${script}*`, (route) => route.abort());
      await signIn(page, await account.createUser());
      await waitForAlert(page, failed);
    });
  });
}
