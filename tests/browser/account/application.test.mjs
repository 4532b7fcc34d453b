// The way from the application to the pages and back, when both have different origins.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { heading, openAccount, signIn } from "../support/account.mjs";

let account;
let application;
let other;
before(async () => {
  application = await startSite();
  other = await startSite();
  account = await openAccount({
    "auth.site_url": "http://site.test",
    "auth.additional_redirect_urls": [`${application.origin}/callback`],
    "plinth.account.title": "Harbour",
  });
});
after(async () => {
  await account?.stop();
  application.server.close();
  other.server.close();
});

/** A site at a name of this machine, which is not trusted on behalf of `site.test`. */
async function startSite() {
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<!doctype html><title>A site</title><h1>At ${request.url}</h1>`);
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  return { server, origin: `http://localhost:${server.address().port}` };
}

const signInUrl = (next, name = "next") => `/sign-in?${name}=${encodeURIComponent(next)}`;

test("who signs in goes on to the application, at any path of its origin", async () => {
  for (const name of ["next", "redirect_to"]) {
    const page = await account.visit(signInUrl(`${application.origin}/dashboard?a=b`, name));
    await signIn(page, await account.createUser());
    await page.waitForURL(`${application.origin}/dashboard?a=b`);
  }
});

test("who is signed in goes there at once", async () => {
  const { page } = await account.openSignedIn();
  await page.goto(account.url + signInUrl(`${application.origin}/x`));
  await page.waitForURL(`${application.origin}/x`);
});

const elsewhere = (target) => [
  `${target}/`,
  target.replace("http://", "//"),
  target.replace("http://", "http:"),
  target.replace("http://", "http:///"),
  target.replace("http://", "\\\\"),
  target.replace("http://", "/\\"),
  target.replace("http://", "http:\\\\"),
  `http://user@${new URL(application.origin).host}/`,
  `${application.origin}@${new URL(target).host}/`,
  `http://localhost:${Number(new URL(application.origin).port) + 1}/`,
  `https://${new URL(application.origin).host}/`,
  encodeURIComponent(application.origin),
  "javascript:document.title='evil'",
  `javascript://${new URL(application.origin).host}/%0adocument.title='evil'`,
  "data:text/html,evil",
  `${application.origin}/\n`,
];

test("no user is redirected to another site", async () => {
  const { page } = await account.openSignedIn();
  for (const next of elsewhere(other.origin)) {
    await page.goto(account.url + signInUrl(next));
    await heading(page, "Profile");
    assert.equal(new URL(page.url()).origin, account.url, next);
    const back = page.getByRole("link", { name: "Back to Harbour" });
    assert.equal(await back.getAttribute("href"), "http://site.test/", next);
  }
});

test("the way back is on the account and after signing out", async () => {
  const user = await account.createUser();
  const target = `${application.origin}/settings`;
  // Through the sign-in page, which only the server leads to.
  const page = await account.visit(`/account?next=${encodeURIComponent(target)}`);
  await heading(page, "Sign in");
  await signIn(page, user);
  await heading(page, "Profile");
  const back = page.getByRole("link", { name: "Back to Harbour" });
  assert.equal(await back.getAttribute("href"), target);
  await page.getByRole("link", { name: "Devices" }).click();
  await heading(page, "Devices");
  assert.equal(await back.getAttribute("href"), target);
  await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  await heading(page, "You're signed out");
  await back.click();
  await page.waitForURL(target);
});

test("without a next, the way back is the site", async () => {
  const { page } = await account.openSignedIn();
  const back = page.getByRole("link", { name: "Back to Harbour" });
  assert.equal(await back.getAttribute("href"), "http://site.test/");
  const guest = await account.visit("/signed-out");
  assert.equal(
    await guest.getByRole("link", { name: "Back to Harbour" }).getAttribute("href"),
    "http://site.test/",
  );
});

test("an application on the same host is a path", async () => {
  const { page } = await account.openSignedIn();
  await page.goto(`${account.url}/account?next=${encodeURIComponent(`${account.url}/shop?a`)}`);
  const back = page.getByRole("link", { name: "Back to Harbour" });
  assert.equal(await back.getAttribute("href"), "/shop?a");
  await page.goto(`${account.url}/account?next=${encodeURIComponent(`${account.url}/p/other/x`)}`);
  await heading(page, "Profile");
  assert.equal(await back.getAttribute("href"), "http://site.test/");
});
