// The pages in the languages of the browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { assertLegible, heading, openAccount, screenshotPath, waitForText } from "../support/account.mjs";

let account;
before(async () => {
  account = await openAccount({
    "plinth.account.profile_fields": [
      { key: "company", label: "Company", label_de: "Firma", required: true },
    ],
  });
});
after(() => account?.stop());

/** What a language calls things; dates are of 2 January 2026. */
const languages = {
  en: {
    locale: "en-GB",
    signIn: "Sign in",
    wrong: "E-mail or password is wrong.",
    profile: "Profile",
    date: "2 January 2026 at 12:00",
  },
  de: {
    locale: "de-AT",
    signIn: "Anmelden",
    wrong: "E-Mail-Adresse oder Passwort ist falsch.",
    profile: "Profil",
    date: "2. Jänner 2026 um 12:00",
  },
  fr: {
    locale: "fr-FR",
    signIn: "Se connecter",
    wrong: "L’adresse e-mail ou le mot de passe est incorrect.",
    profile: "Profil",
    date: "2 janvier 2026 à 12:00",
  },
  es: {
    locale: "es-ES",
    signIn: "Iniciar sesión",
    wrong: "El correo electrónico o la contraseña no son correctos.",
    profile: "Perfil",
    date: /^2 de enero de 2026\D+12:00$/,
  },
  pt: {
    locale: "pt-BR",
    signIn: "Entrar",
    wrong: "O e-mail ou a senha está incorreto.",
    profile: "Perfil",
    date: "2 de janeiro de 2026 às 12:00",
  },
};

const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

/** Screenshots of a page in both sizes and colour schemes, none of which may clip or overflow. */
async function review(page, name) {
  for (const [size, viewport] of Object.entries(sizes))
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await assertLegible(page, `${name}, ${size}`);
      const path = await screenshotPath(`${name}-${colorScheme}-${size}`);
      await page.screenshot({ path, fullPage: true });
    }
}

for (const [language, expected] of Object.entries(languages))
  test(`${language}: sign-in, an error by its code, and the account`, async () => {
    const page = await account.visit("/sign-in", { locale: expected.locale, timezoneId: "UTC" });
    await heading(page, expected.signIn);
    assert.equal(await page.locator("html").getAttribute("lang"), language);
    assert.match(await page.title(), new RegExp(`^${expected.signIn} · `));
    await review(page, `sign-in-${language}`);

    const user = await account.createUser("ann", { user_metadata: { full_name: "Ann" } });
    await page.route(/\/auth\/v1\/user$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        json: { ...(await response.json()), last_sign_in_at: "2026-01-02T12:00:00Z" },
      });
    });
    await page.locator("input[type=email]").fill(user.email);
    await page.locator("input[type=password]").fill("not this");
    await page.locator("button[type=submit]").click();
    await page.getByRole("alert").filter({ hasText: expected.wrong }).waitFor();
    await page.locator("input[type=password]").fill(user.password);
    await page.locator("button[type=submit]").click();
    await heading(page, expected.profile);
    await waitForText(page, expected.date);
    await review(page, `account-${language}`);
  });

/** One file of texts per visit. */
test("only the texts of one language are loaded", async () => {
  const page = await account.visit("about:blank", { locale: "fr-CA" });
  const files = [];
  page.on("request", (request) => files.push(new URL(request.url()).pathname));
  await page.goto(`${account.url}/sign-in`);
  await heading(page, "Se connecter");
  const texts = files.filter((path) => /\/(de|en|es|fr|pt)-[^/]+\.js$/.test(path));
  assert.equal(texts.length, 1, texts.join());
  assert.match(texts[0], /\/fr-/);
});

test("a browser with other languages gets the first one, in the order of its wishes", async () => {
  const page = await account.visit("/sign-in", { locale: "ja-JP" });
  await heading(page, "Sign in");
  const other = await account.browser.newContext({ locale: "ja-JP" });
  await other.addInitScript(() =>
    Object.defineProperty(navigator, "languages", { get: () => ["ja", "pt-PT", "de"] }),
  );
  const tab = await other.newPage();
  await tab.goto(`${account.url}/sign-in`);
  await heading(tab, "Entrar");
});

test("the server's page is in the language of the request, also without JavaScript", async () => {
  const load = async (accepted) => {
    const response = await fetch(`${account.url}/sign-in`, { headers: { "accept-language": accepted } });
    assert.match(response.headers.get("vary"), /Accept-Language/i);
    return response.text();
  };
  const german = await load("de-CH, en;q=0.5");
  assert.match(german, /<html lang="de"/);
  assert.match(german, /Diese Seiten brauchen JavaScript/);
  assert.doesNotMatch(german, /need JavaScript|data-language="en"/);
  assert.match(await load("ja"), /<html lang="en"/);

  const page = await account.visit("/sign-in", { locale: "es-MX", javaScriptEnabled: false });
  await heading(page, "Estas páginas necesitan JavaScript");
});

test("the operator's labels are translated where they say how", async () => {
  const german = await account.visit("/sign-up", { locale: "de-DE" });
  await german.getByLabel("Firma").waitFor();
  const french = await account.visit("/sign-up", { locale: "fr-FR" });
  await french.getByLabel("Company").waitFor();
  assert.match(await french.title(), / · Votre compte$/);
});
