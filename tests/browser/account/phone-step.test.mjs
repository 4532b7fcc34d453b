// A phone as the second step: set up, asked for, beside an app (client contract 5.7, 5.11). Messages go to
// a provider of the test's own, and have a minute between them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import postgres from "../../js-clients/support/postgres.mjs";
import { alerts, field, heading, look, openAccount, says, signIn } from "../support/account.mjs";
import { inField, intercept, refusal, refuse } from "../support/refusals.mjs";
import { listenAsSms } from "../support/sms.mjs";
import { codeOf, enterWithApp } from "../support/two-step.mjs";

let sms;
let account;
let sql;
before(async () => {
  sms = await listenAsSms();
  account = await openAccount({
    ...sms.settings,
    "auth.mfa.phone.enroll_enabled": true,
    "auth.mfa.phone.verify_enabled": true,
    "auth.mfa.phone.max_frequency": "1m",
    "auth.mfa.phone.otp_length": 7,
  });
  sql = postgres(account.plinth.dbUrl);
});
after(async () => {
  await sql?.end();
  await account?.stop();
  sms?.stop();
});

const inMessage = "Code from the text message";
const challenge = ["POST", /\/factors\/[^/]+\/challenge/];
const verify = ["POST", /\/factors\/[^/]+\/verify/];
const waiting = (page) => page.getByRole("button", { name: /^Send a new code in \d+ s$/ });
const wrong = (code) => (code === "0000000" ? "0000001" : "0000000");

let numbers = 0;

/** A number that nobody else has. */
function newNumber() {
  numbers += 1;
  return `+1555010${String(numbers).padStart(4, "0")}`;
}

async function addPhone(page, number) {
  await page.goto(`${account.url}/account/security/phone/new`);
  await field(page, "Phone number").fill(number);
  await page.getByRole("button", { name: "Send code" }).click();
  await waiting(page).waitFor();
}

/** The last message was long ago. */
const rest = ({ id }) =>
  sql`update auth.mfa_factors set last_challenged_at = last_challenged_at - interval '1 hour'
      where user_id = ${id}`;

/** Somebody whose second step is a phone. */
async function memberWithPhone() {
  const { page, who } = await account.enter();
  const number = newNumber();
  await addPhone(page, number);
  await field(page, inMessage).fill(sms.codeTo(number));
  await says(page, "You have one second step.");
  await rest(who);
  return { who, number, page };
}

/** The same, asked for it after the password. */
async function askedForPhone() {
  const { who, number } = await memberWithPhone();
  const page = await account.visit("/sign-in?next=%2Faccount%2Fsessions");
  await signIn(page, who);
  await heading(page, "One more step");
  await waiting(page).waitFor();
  return { who, number, page };
}

test("a phone is set up with the code that is sent there, once", async () => {
  const { page } = await account.enter("/account/security");
  const number = newNumber();
  await page.getByRole("link", { name: "Add a phone" }).click();
  await heading(page, "Add a phone");
  await look(page, "phone-number");
  await field(page, "Phone number").fill("0170 1234567");
  await page.getByRole("button", { name: "Send code" }).click();
  await inField("Phone number", "Enter a number such as +49 170 1234567.")(page);
  await addPhone(page, number);
  await says(page, `Sent to ${number}.`);
  await look(page, "phone-code");
  await field(page, inMessage).fill(wrong(sms.codeTo(number)));
  await inField(inMessage, "That code isn't right. Codes change every 30 seconds.")(page);
  await field(page, inMessage).fill(sms.codeTo(number));

  await says(page, "Two-step verification is on.");
  await page.getByRole("list", { name: "Second steps" }).getByText("Text message").waitFor();
  await look(page, "security-phone");
  assert.deepEqual(
    sms.to(number).map(({ channel }) => channel),
    ["sms"],
  );
  await page.getByRole("link", { name: "Add a phone" }).click();
  await field(page, "Phone number").fill(number);
  await page.getByRole("button", { name: "Send code" }).click();
  await alerts(page, "This number is already set up.");
});

test("a phone can be added after the page was loaded again, at either step", async () => {
  const { page, who } = await account.enter("/account/security/phone/new");
  const number = newNumber();
  await field(page, "Phone number").fill(number);
  await page.reload();
  await heading(page, "Add a phone");
  assert.equal(await field(page, "Phone number").inputValue(), "");
  await addPhone(page, number);
  await page.reload();
  await field(page, "Phone number").waitFor();
  assert.equal(await field(page, inMessage).count(), 0);
  await rest(who);
  await addPhone(page, number);
  await field(page, inMessage).fill(sms.codeTo(number));
  await page.getByRole("list", { name: "Second steps" }).getByText("Text message").waitFor();
});

test("a set-up that was left is finished later", async () => {
  const { page, who } = await account.enter("/account/security");
  const number = newNumber();
  await page.getByRole("link", { name: "Add a phone" }).click();
  await field(page, "Phone number").fill(number);
  await page.getByRole("button", { name: "Send code" }).click();
  await waiting(page).waitFor();
  await page.getByRole("link", { name: "Back" }).click();
  await page.getByRole("list", { name: "Unfinished set-up" }).getByText(number).waitFor();
  await rest(who);
  await page.getByRole("button", { name: `Finish setting up ${number}` }).click();
  const dialog = page.getByRole("dialog", { name: "Finish setting up" });
  await waiting(dialog).waitFor();
  await look(page, "phone-finish");
  assert.equal(sms.to(number).length, 2);
  await field(dialog, inMessage).fill(sms.codeTo(number));
  await says(page, "Two-step verification is on.");
  await page.getByRole("list", { name: "Second steps" }).getByText(number).waitFor();
});

test("signing in sends a code at once, and another not before its time", async () => {
  const { page, number } = await askedForPhone();
  assert.equal(sms.to(number).length, 2);
  await says(page, `Sent to the number ending in ${number.slice(-2)}.`);
  assert.ok(!(await page.content()).includes(number), "nothing of the account is shown before this step");
  assert.ok(await waiting(page).isDisabled());
  await says(page, "You can ask again in 60 seconds.");
  await look(page, "mfa-phone");
  await field(page, inMessage).fill(wrong(sms.codeTo(number)));
  await inField(inMessage, "That code isn't right. Codes change every 30 seconds.")(page);
  await field(page, inMessage).fill(sms.codeTo(number));
  await heading(page, "Devices");
});

test("a page that is loaded again sends nothing more, and takes the code that came", async () => {
  const { page, number } = await askedForPhone();
  await page.reload();
  await waiting(page).waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.equal(sms.to(number).length, 2);
  await field(page, inMessage).fill(sms.codeTo(number));
  await heading(page, "Devices");
});

test("another device cannot send at once either, and is told how long to wait", async () => {
  const { who } = await askedForPhone();
  const other = await account.visit("/sign-in");
  await signIn(other, who);
  await alerts(other, /Please wait \d+ s before asking for another message\./);
  assert.ok(await waiting(other).isDisabled());
  await look(other, "mfa-phone-limit");
});

test("a challenge that is over is made anew, with a new code", async () => {
  const { page, who, number } = await askedForPhone();
  const release = await refuse(page, verify, "mfa_challenge_expired");
  await rest(who);
  await field(page, inMessage).fill(sms.codeTo(number));
  await inField(inMessage, "Please enter a new code.")(page);
  await release();
  await sms.arrived(number, 3);
  await waiting(page).waitFor();
  await field(page, inMessage).fill("");
  await field(page, inMessage).fill(sms.codeTo(number));
  await heading(page, "Devices");
});

test("messages that cannot be sent say so, and can be asked for again", async () => {
  const { who, number } = await memberWithPhone();
  const page = await account.visit("/sign-in");
  const reasons = [
    ["sms_send_failed", "We couldn't send the message. Check the number or try later."],
    ["mfa_phone_verify_not_enabled", "This method is turned off."],
    ["over_request_rate_limit", "Too many attempts. Try again in a few minutes."],
  ];
  const release = await intercept(page, challenge, (route, count) =>
    route.fulfill(refusal(reasons[count - 1][0])),
  );
  await signIn(page, who);
  await alerts(page, reasons[0][1]);
  assert.equal(await page.getByText("Sent to").count(), 0);
  await look(page, "mfa-phone-unsent");
  const resend = page.getByRole("button", { name: "Send a new code", exact: true });
  for (const [, text] of reasons.slice(1)) {
    await resend.click();
    await alerts(page, text);
  }
  await release();
  await resend.click();
  await says(page, "Sent.");
  await field(page, inMessage).fill(sms.codeTo(number));
  await heading(page, "Profile");
});

test("who has both is asked for the one used last, and may take the other", async () => {
  const { page, who } = await enterWithApp(account);
  const number = newNumber();
  await addPhone(page, number);
  await field(page, inMessage).fill(sms.codeTo(number));
  await page.getByRole("list", { name: "Second steps" }).getByRole("listitem").nth(1).waitFor();
  await rest(who);
  // Both moved; the phone is still the later one.
  const other = await account.visit("/sign-in");
  await signIn(other, who);
  await field(other, inMessage).waitFor();
  await other.getByRole("button", { name: "Try another way" }).click();
  await other
    .getByRole("button", { name: `Text message the number ending in ${number.slice(-2)}` })
    .waitFor();
  assert.ok(!(await other.content()).includes(number));
  await look(other, "mfa-choice");
  await other.getByRole("button", { name: /^Authenticator app/ }).click();
  await field(other, "Code from your authenticator app").fill(codeOf(who.secret));
  await heading(other, "Profile");
});

test("factors that cannot be listed can be asked for again; without one nothing is asked", async () => {
  const { who } = await memberWithPhone();
  const page = await account.visit("/sign-in");
  const release = await refuse(page, ["GET", /\/auth\/v1\/user$/], "conflict", { status: 409 });
  await signIn(page, who);
  await alerts(page, "The server took too long or had a problem. Please try again.");
  await release();
  await page.getByRole("button", { name: "Try again" }).click();
  await field(page, inMessage).waitFor();

  const { page: free } = await account.enter();
  await free.goto(`${account.url}/sign-in/mfa?next=%2Faccount%2Fsessions`);
  await heading(free, "Devices");
});
