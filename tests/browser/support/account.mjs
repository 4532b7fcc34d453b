// The account pages of a running Plinth: test users, page helpers, and accessibility audits.

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

import { newUser, startAccounts } from "../../js-clients/support/accounts.mjs";
import { launchBrowser } from "./chromium.mjs";

const require = createRequire(import.meta.url);
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

/** Screenshots of every screen, for manual review. */
const screenshotFolder = process.env.PLINTH_SCREENSHOTS ?? join(tmpdir(), "plinth-screenshots");

export async function screenshotPath(name) {
  await mkdir(screenshotFolder, { recursive: true });
  return join(screenshotFolder, `${name}.png`);
}

/** A build of the pages that is not embedded in the binary. */
const webDir = process.env.PLINTH_TEST_WEB_DIR;

/**
 * A running Plinth with a browser for its account pages.
 *
 * @param {Record<string, unknown>} [settings] By path; by default e-mail confirmation is required.
 */
export async function openAccount(settings = {}) {
  const plinth = await startAccounts({
    "auth.email.enable_confirmations": true,
    ...(webDir ? { "plinth.web_dir": webDir } : {}),
    ...settings,
  });
  // A host name, because WebAuthn does not allow IP addresses.
  const url = plinth.apiUrl.replace("127.0.0.1", "localhost");
  const browser = await launchBrowser().catch(async (error) => {
    await plinth.stop();
    throw error;
  });
  const userAgent = await readUserAgent(browser);
  const stop = async () => {
    await browser.close();
    await plinth.stop();
  };

  /** A page in a new browser context. */
  const visit = async (path, options = {}) => {
    const context = await browser.newContext({ locale: "en-GB", ...options });
    context.setDefaultTimeout(45_000);
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

  /** A user with a confirmed e-mail address. */
  const createUser = async (name = "ann", attributes = {}) => {
    const credentials = newUser(name);
    const { id } = await admin("POST", "/users", { ...credentials, email_confirm: true, ...attributes });
    return { ...credentials, id };
  };

  /** A request to the auth service with the publishable key and this browser's user agent. */
  const authRequest = async (path, body, token) => {
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
    const result = await response.json();
    assert.ok(response.ok, `${path}: ${JSON.stringify(result)}`);
    return result;
  };

  /** A page with the cookies of a session. */
  const openWithSession = async (session, path) => {
    const page = await visit("about:blank");
    await page.context().addCookies(sessionCookies(session, url));
    await page.goto(url + path);
    return page;
  };

  /** Creates a user and opens a page signed in. */
  const openSignedIn = async (path = "/account", attributes = {}) => {
    const user = await createUser("ann", attributes);
    const page = await openWithSession(await authRequest("/token?grant_type=password", user), path);
    if (path === "/account") await heading(page, "Profile");
    return { user, page };
  };

  /** Link and code of the newest mail to an address. */
  const mail = async (address) => {
    const { links, otp, ...rest } = await plinth.mailTo(address);
    return { ...rest, otp, link: links.find((link) => link.includes("/confirm?")) };
  };

  return {
    plinth,
    url,
    browser,
    visit,
    createUser,
    openSignedIn,
    openWithSession,
    authRequest,
    admin,
    mail,
    stop,
  };
}

async function readUserAgent(browser) {
  const page = await browser.newPage();
  const agent = await page.evaluate(() => navigator.userAgent);
  await page.close();
  return agent;
}

/** Session cookies in the format of `@supabase/ssr`. */
export function sessionCookies(session, url) {
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

/** An input by its label; forms and buttons may have the same accessible name. */
export const field = (where, label) => where.locator("input").and(where.getByLabel(label));

/** Waits for a page by its `h1`. */
export async function heading(page, name) {
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

export const waitForText = (page, text) => page.getByText(text).first().waitFor();

/** An error: an alert, or the text beside the field that is wrong, which takes the focus. */
export const waitForAlert = (page, text) =>
  page.locator('[role="alert"], [id$="-error"]').filter({ hasText: text }).first().waitFor();

/** Whether an element has the focus now. */
export const isFocused = (locator) => locator.evaluate((element) => element === document.activeElement);

/** Whether an element gets the focus within the timeout: pages move it after rendering. */
export const hasFocus = (locator) => becomesTrue(locator, (element) => element === document.activeElement);

/** Whether the focus is on an element, not on the body. */
export const keepsFocus = async (page) => {
  await waitForPaint(page);
  return page.evaluate(() => document.activeElement !== document.body);
};

/** Whether a predicate becomes true for an element within the timeout. */
export const becomesTrue = (locator, predicate) => eventually(() => locator.evaluate(predicate));

/** Whether the title gets this prefix within the timeout. */
export const getsTitle = (page, start) => eventually(async () => (await page.title()).startsWith(start));

/** Polls a predicate; whether it becomes true within the timeout. */
export async function eventually(predicate, timeoutMs = 20_000) {
  const deadline = Date.now() + timeoutMs;
  while (!(await predicate())) {
    if (Date.now() > deadline) return false;
    await wait(50);
  }
  return true;
}

/** Whether the auth service still accepts a session. */
export async function isSessionValid(account, { access_token: token }) {
  const headers = { apikey: account.plinth.keys.publishable, authorization: `Bearer ${token}` };
  return (await fetch(`${account.plinth.apiUrl}/auth/v1/user`, { headers })).status === 200;
}

/** Viewports equivalent to a zoomed window of 1280 × 1024. */
const zoomViewports = { "200 %": { width: 640, height: 512 }, "400 %": { width: 320, height: 256 } };

/** Audits a screen with axe in light and dark mode, checks its layout at 320 px and zoomed, takes screenshots. */
export async function auditScreen(page, name) {
  const before = page.viewportSize();
  for (const [zoom, size] of Object.entries(zoomViewports)) {
    await page.setViewportSize(size);
    await assertLegible(page, `${name}, ${zoom}`);
  }
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: width === 320 ? 640 : 800 });
      await assertLegible(page, `${name}, ${width} px`);
      // In dark mode only the colours differ, regardless of the width.
      const rules = colorScheme === "light" ? allRules : width === 1280 ? colourRules : null;
      if (rules) await audit(page, rules, `${name}, ${colorScheme}, ${width} px`);
      const path = await screenshotPath(`${name}-${colorScheme}-${width}`);
      await page.screenshot({ path, fullPage: true });
    }
  }
  await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: "light" });
}

const waitForPaint = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) =>
        // Two frames are painted; no event says when styles that follow from them have settled.
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 50))),
      ),
  );

const allRules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const colourRules = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

async function audit(page, runOnly, where) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const { violations } = await page.evaluate((options) => globalThis.axe.run(document, options), {
    runOnly,
    resultTypes: ["violations"],
  });
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const found = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  assert.deepEqual(found, [], where);
}

/** No horizontal scrolling, no clipped text, and the last control can be scrolled into view. */
export async function assertLegible(page, where) {
  await waitForPaint(page);
  const clipped = await page.evaluate(() => {
    const isClipped = (element) => {
      const { overflowX, clip, clipPath } = getComputedStyle(element);
      const isHidden = clip !== "auto" || clipPath !== "none" || element.clientWidth <= 1;
      return overflowX === "hidden" && !isHidden && element.scrollWidth > element.clientWidth;
    };
    const { scrollWidth, clientWidth } = document.documentElement;
    return [...document.querySelectorAll("main *, dialog, dialog *")]
      .filter(isClipped)
      .map((element) => element.outerHTML)
      .concat(scrollWidth > clientWidth ? [`${scrollWidth - clientWidth} px too wide`] : []);
  });
  assert.deepEqual(clipped, [], where);
  const hasDialog = (await page.locator("dialog[open]").count()) > 0;
  const controls = page.locator(`${hasDialog ? "dialog[open]" : "main"} button:enabled:not([aria-disabled])`);
  if ((await controls.count()) > 0) await controls.last().click({ trial: true, timeout: 5000 });
}
