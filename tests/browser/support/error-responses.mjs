// Simulated error responses of the auth service, and assertions on where a page shows them.
//
// Many error codes are hard to provoke with a real server.

import assert from "node:assert/strict";

import { becomesTrue, getsTitle, hasFocus, heading, waitForText } from "./account.mjs";

/**
 * Intercepts matching requests; the returned function stops that and returns their number.
 *
 * @param call Method and URL, such as `["PUT", /\/auth\/v1\/user\b/]`.
 */
export async function intercept(page, [method, url], respond) {
  let count = 0;
  const handler = (route) => {
    if (route.request().method() !== method) return route.fallback();
    count += 1;
    return respond(route, count);
  };
  await page.route(url, handler);
  return async () => {
    await page.unroute(url, handler);
    return count;
  };
}

/** An error response of the auth service, in API version 2024-01-01. */
export const errorResponse = (code, { status = 422, message = "server message", headers, ...more } = {}) => ({
  status,
  headers: { "x-supabase-api-version": "2024-01-01", ...headers },
  json: { code, message, ...more },
});

/** Responds with an error until stopped. */
export const respondWithError = (page, call, code, more) =>
  intercept(page, call, (route) => route.fulfill(errorResponse(code, more)));

// Assertions for the placements of client contract 5.15.

/** At a field, which is invalid, described by it and has the focus, and nowhere else. */
export const inField = (label, text) => async (page) => {
  const input = page.locator("input").and(page.getByLabel(label));
  await page.getByText(`Error: ${text}`).waitFor();
  assert.equal(await input.getAttribute("aria-invalid"), "true", text);
  const described = (await input.getAttribute("aria-describedby")).split(" ");
  const errors = described.filter((id) => id.endsWith("-error"));
  assert.deepEqual(await page.locator(`#${errors[0]}`).allTextContents(), [`Error: ${text}`]);
  assert.ok(await getsTitle(page, "Error: "), text);
  assert.ok(await hasFocus(input), text);
  assert.equal(await page.getByText(text).count(), 1, text);
};

/** Above the form, which has the focus; no field is invalid. */
export const inBanner = (text) => async (page) => {
  const alert = page.getByRole("alert").filter({ hasText: text });
  await alert.waitFor();
  assert.equal(await alert.getByRole("listitem").count(), 0, text);
  assert.equal(await page.locator("[aria-invalid]").count(), 0, text);
  const isForm = await alert.evaluate((element) => element.closest("form") !== null);
  if (isForm) {
    assert.ok(await getsTitle(page, "Error: "), text);
    const containsFocus = (element) => !!element.closest("form")?.contains(document.activeElement);
    assert.ok(await becomesTrue(alert, containsFocus), text);
  }
};

/** Instead of the form. */
export const onPage = (title, text) => async (page) => {
  await heading(page, title);
  await waitForText(page, text);
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
};

/** In a toast, announced politely. */
export const inToast = (text) => (page) => page.getByRole("status").filter({ hasText: text }).waitFor();

/** On the sign-in page, with a `next` parameter. */
export const atSignIn = async (page) => {
  await heading(page, "Sign in");
  const notice = page
    .getByRole("status")
    .filter({ hasText: "You've been signed out. Please sign in again." });
  await notice.waitFor();
  assert.ok(new URL(page.url()).searchParams.get("next"), page.url());
};
