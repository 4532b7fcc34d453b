// The account pages of a running Plinth, people to use them, and a careful look at every screen.

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

import { somebody, startAccounts } from "../../js-clients/support/accounts.mjs";
import { launchBrowser } from "./chromium.mjs";

const require = createRequire(import.meta.url);
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

/** Screenshots of every screen, for people to look at. Never part of the repository. */
const pictures = process.env.PLINTH_SCREENSHOTS ?? join(tmpdir(), "plinth-screenshots");

/** Where a picture is kept. */
export async function picture(name) {
  await mkdir(pictures, { recursive: true });
  return join(pictures, `${name}.png`);
}

/** Pages that were built but are not in the program yet. */
const webDir = process.env.PLINTH_TEST_WEB_DIR;

/**
 * A Plinth whose account pages are under test.
 *
 * @param {Record<string, unknown>} [settings] By path; addresses must be confirmed unless they say so.
 */
export async function openAccount(settings = {}) {
  const plinth = await startAccounts({
    "auth.email.enable_confirmations": true,
    ...(webDir ? { "plinth.web_dir": webDir } : {}),
    ...settings,
  });
  // A name and not an address, because passkeys belong to names.
  const url = plinth.apiUrl.replace("127.0.0.1", "localhost");
  const browser = await launchBrowser().catch(async (error) => {
    await plinth.stop();
    throw error;
  });
  const userAgent = await agentOf(browser);
  const stop = async () => {
    await browser.close();
    await plinth.stop();
  };

  /** A page in a browser of its own: nobody has been there before. */
  const visit = async (path, options = {}) => {
    const context = await browser.newContext({ locale: "en-GB", ...options });
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    page.on("pageerror", (error) => console.error(`page error at ${page.url()}:`, error));
    page.on("console", (message) => {
      if (/Content Security Policy/.test(message.text())) console.error(message.text());
    });
    await page.goto(path === "about:blank" ? path : url + path);
    return page;
  };

  const admin = async (method, path, body) => {
    const response = await fetch(`${plinth.apiUrl}/auth/v1/admin${path}`, {
      method,
      headers: {
        apikey: plinth.keys.secret,
        authorization: `Bearer ${plinth.keys.secret}`,
        "content-type": "application/json",
      },
      body: body && JSON.stringify(body),
    });
    assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
    return response.json();
  };

  /** Somebody with a confirmed account. */
  const member = async (name = "ann", more = {}) => {
    const who = somebody(name);
    const user = await admin("POST", "/users", { ...who, email_confirm: true, ...more });
    return { ...who, id: user.id };
  };

  /** A call of the public part of the auth service, as this browser would make it. */
  const ask = async (path, body, token) => {
    const response = await fetch(`${plinth.apiUrl}/auth/v1${path}`, {
      method: "POST",
      headers: {
        apikey: plinth.keys.publishable,
        "content-type": "application/json",
        "user-agent": userAgent,
        ...(token && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    assert.ok(response.ok, `${path}: ${JSON.stringify(answer)}`);
    return answer;
  };

  /** A page of somebody who has signed in before: the session is in the cookies. */
  const resume = async (session, path) => {
    const page = await visit("about:blank");
    await page.context().addCookies(cookiesOf(session, url));
    await page.goto(url + path);
    return page;
  };

  /** Somebody with an account, on a page of it. */
  const enter = async (path = "/account", more = {}) => {
    const who = await member("ann", more);
    const page = await resume(await ask("/token?grant_type=password", who), path);
    if (path === "/account") await heading(page, "Profile");
    return { who, page };
  };

  /** Link and code of the newest mail to somebody. */
  const mail = async (address) => {
    const { links, otp, ...rest } = await plinth.mailTo(address);
    return { ...rest, otp, link: links.find((link) => link.includes("/confirm?")) };
  };

  return { plinth, url, browser, visit, member, enter, resume, ask, admin, mail, stop };
}

/** What the browser calls itself, for devices that are to be recognised. */
async function agentOf(browser) {
  const page = await browser.newPage();
  const agent = await page.evaluate(() => navigator.userAgent);
  await page.close();
  return agent;
}

/** As the published client writes them. */
export function cookiesOf(session, url) {
  const value = `base64-${Buffer.from(JSON.stringify(session)).toString("base64url")}`;
  const chunks = value.match(/.{1,3180}/g);
  const name = (index) => `sb-localhost-auth-token${chunks.length === 1 ? "" : `.${index}`}`;
  return chunks.map((chunk, index) => ({ name: name(index), value: chunk, url, sameSite: "Lax" }));
}

export async function signIn(page, { email, password }) {
  await field(page, "E-mail").fill(email);
  await field(page, "Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** An input by its label; forms and buttons may bear the same name. */
export const field = (where, label) => where.locator("input").and(where.getByLabel(label));

/** Waits for a page by its one heading. */
export async function heading(page, name) {
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

/** Waits for a text. */
export const says = (page, text) => page.getByText(text).first().waitFor();

/** Waits for an error, wherever on the page it stands. */
export const alerts = (page, text) => page.getByRole("alert").filter({ hasText: text }).first().waitFor();

/** Whether the focus is on something at this moment. */
export const isFocused = (locator) => locator.evaluate((element) => element === document.activeElement);

/** Whether the focus comes to something: pages move it once they have shown what it moves for. */
export const hasFocus = (locator) => comes(locator, (element) => element === document.activeElement);

/** Whether the focus comes to something of the page, and does not stay nowhere. */
export const keepsPlace = async (page) => {
  await drawn(page);
  return page.evaluate(() => document.activeElement !== document.body);
};

/** Whether something becomes so of an element, soon. */
export const comes = (locator, isSo) => soon(() => locator.evaluate(isSo));

/** Whether a page gets a title that begins so, soon. */
export const getsTitle = (page, start) => soon(async () => (await page.title()).startsWith(start));

/** Whether something becomes true while somebody would wait for it. */
export async function soon(isSo, patience = 5000) {
  const end = Date.now() + patience;
  while (!(await isSo())) {
    if (Date.now() > end) return false;
    await wait(50);
  }
  return true;
}

/** Whether the auth service still knows a session. */
export async function isAlive(account, { access_token: token }) {
  const headers = { apikey: account.plinth.keys.publishable, authorization: `Bearer ${token}` };
  return (await fetch(`${account.plinth.apiUrl}/auth/v1/user`, { headers })).status === 200;
}

/** What is left of a window of 1280 × 1024 when everything in it is larger. */
const zooms = { "200 %": { width: 640, height: 512 }, "400 %": { width: 320, height: 256 } };

/** Looks at a screen: accessible in light and dark, legible at 320 px and zoomed, pictures kept. */
export async function look(page, name) {
  const before = page.viewportSize();
  for (const [zoom, size] of Object.entries(zooms)) {
    await page.setViewportSize(size);
    await legible(page, `${name}, ${zoom}`);
  }
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: width === 320 ? 640 : 800 });
      await legible(page, `${name}, ${width} px`);
      // What depends on the scheme are colours, whatever the width.
      const rules = colorScheme === "light" ? everything : width === 1280 ? colours : null;
      if (rules) await audit(page, rules, `${name}, ${colorScheme}, ${width} px`);
      const path = await picture(`${name}-${colorScheme}-${width}`);
      await page.screenshot({ path, fullPage: true });
    }
  }
  await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: "light" });
}

/** New colours and sizes are on the screen. */
const drawn = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) =>
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 50))),
      ),
  );

const everything = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const colours = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

async function audit(page, runOnly, where) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const { violations } = await page.evaluate((options) => globalThis.axe.run(document, options), {
    runOnly,
    resultTypes: ["violations"],
  });
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const told = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  assert.deepEqual(told, [], where);
}

/** A screen does not scroll sideways, cuts no words off, and every control can be brought into sight. */
export async function legible(page, where) {
  await drawn(page);
  const cut = await page.evaluate(() => {
    const isCut = (element) => {
      const { overflowX, clip, clipPath } = getComputedStyle(element);
      const isHidden = clip !== "auto" || clipPath !== "none" || element.clientWidth <= 1;
      return overflowX === "hidden" && !isHidden && element.scrollWidth > element.clientWidth;
    };
    const { scrollWidth, clientWidth } = document.documentElement;
    return [...document.querySelectorAll("main *, dialog, dialog *")]
      .filter(isCut)
      .map((element) => element.outerHTML)
      .concat(scrollWidth > clientWidth ? [`${scrollWidth - clientWidth} px too wide`] : []);
  });
  assert.deepEqual(cut, [], where);
  const hasDialog = (await page.locator("dialog[open]").count()) > 0;
  const controls = page.locator(`${hasDialog ? "dialog[open]" : "main"} button:enabled:not([aria-disabled])`);
  if ((await controls.count()) > 0) await controls.last().click({ trial: true, timeout: 5000 });
}
