// Calls that are refused as the auth service does it, and the places where a page says so.
//
// Many codes are hard to come by with a server that works. The page cannot tell who answered.

import assert from "node:assert/strict";

import { comes, getsTitle, hasFocus, heading, says } from "./account.mjs";

/**
 * Answers the calls of one kind; the function that is returned ends it, and says how many there were.
 *
 * @param call Method and address, such as `["PUT", /\/auth\/v1\/user\b/]`.
 */
export async function intercept(page, [method, address], answer) {
  let count = 0;
  const handler = (route) => {
    if (route.request().method() !== method) return route.fallback();
    count += 1;
    return answer(route, count);
  };
  await page.route(address, handler);
  return async () => {
    await page.unroute(address, handler);
    return count;
  };
}

/** As the service answers the published client: code and message, and the version that says so. */
export const refusal = (code, { status = 422, message = "words of the server", headers, ...more } = {}) => ({
  status,
  headers: { "x-supabase-api-version": "2024-01-01", ...headers },
  json: { code, message, ...more },
});

/** Refuses calls until told otherwise. */
export const refuse = (page, call, code, more) =>
  intercept(page, call, (route) => route.fulfill(refusal(code, more)));

// The places of client contract 5.15. Each waits, then looks closely.

/** Beside a field that is marked and described by it, and in the summary, which leads there. */
export const inField = (label, text) => async (page) => {
  const input = page.locator("input").and(page.getByLabel(label));
  const alert = page.getByRole("alert").filter({ has: page.getByRole("link", { name: text }) });
  await alert.waitFor();
  assert.equal(await input.getAttribute("aria-invalid"), "true", text);
  const described = (await input.getAttribute("aria-describedby")).split(" ");
  const errors = described.filter((id) => id.endsWith("-error"));
  assert.deepEqual(await page.locator(`#${errors[0]}`).allTextContents(), [`Error: ${text}`]);
  assert.ok(await getsTitle(page, "Error: "), text);
  await alert.getByRole("link", { name: text }).click();
  assert.ok(await hasFocus(input), text);
};

/** Above the form, which has the focus, and no field to blame. */
export const inBanner = (text) => async (page) => {
  const alert = page.getByRole("alert").filter({ hasText: text });
  await alert.waitFor();
  assert.equal(await alert.getByRole("listitem").count(), 0, text);
  assert.equal(await page.locator("[aria-invalid]").count(), 0, text);
  const isForm = await alert.evaluate((element) => element.closest("form") !== null);
  if (isForm) {
    assert.ok(await getsTitle(page, "Error: "), text);
    const holds = (element) => !!element.closest("form")?.contains(document.activeElement);
    assert.ok(await comes(alert, holds), text);
  }
};

/** Instead of the form. */
export const onPage = (title, text) => async (page) => {
  await heading(page, title);
  await says(page, text);
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
};

/** In passing, announced. */
export const inToast = (text) => (page) => page.getByRole("status").filter({ hasText: text }).waitFor();

/** On the sign-in page, which leads back afterwards. */
export const atSignIn = async (page) => {
  await heading(page, "Sign in");
  const notice = page
    .getByRole("status")
    .filter({ hasText: "You've been signed out. Please sign in again." });
  await notice.waitFor();
  assert.ok(new URL(page.url()).searchParams.get("next"), page.url());
};
