// Phone as a second factor: enrollment, challenge, together with TOTP (client contract 5.7, 5.11). Messages go
// to a fake provider; the send rate limit is one per minute.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import postgres from "../../js-clients/support/postgres.mjs";
import {
  auditScreen,
  field,
  heading,
  openAccount,
  signIn,
  waitForAlert,
  waitForText,
} from "../support/account.mjs";
import { errorResponse, inField, intercept, respondWithError } from "../support/error-responses.mjs";
import { startSmsProvider } from "../support/sms.mjs";
import { nextTotpCode, openSignedInWithTotp } from "../support/totp.mjs";

let sms;
let account;
let sql;
before(async () => {
  sms = await startSmsProvider();
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
const resendCountdown = (page) => page.getByRole("button", { name: /^Send a new code in \d+ s$/ });
const wrongCode = (code) => (code === "0000000" ? "0000001" : "0000000");

let numbers = 0;

/** A unique phone number. */
function newNumber() {
  numbers += 1;
  return `+1555010${String(numbers).padStart(4, "0")}`;
}

async function addPhone(page, number) {
  await page.goto(`${account.url}/account/security/phone/new`);
  await field(page, "Phone number").fill(number);
  await page.getByRole("button", { name: "Send code" }).click();
  const alert = page.getByRole("alert");
  await resendCountdown(page).or(alert).first().waitFor();
  assert.deepEqual(await alert.allInnerTexts(), []);
}

/** Moves the last challenge an hour back, so that the send rate limit no longer applies. */
const expireSendLimit = ({ id }) =>
  sql`update auth.mfa_factors set last_challenged_at = last_challenged_at - interval '1 hour'
      where user_id = ${id}`;

/** A user with a verified phone factor. */
async function createUserWithPhone() {
  const { page, user } = await account.openSignedIn();
  const number = newNumber();
  await addPhone(page, number);
  await field(page, inMessage).fill(sms.codeTo(number));
  await waitForText(page, "You have one second step.");
  await expireSendLimit(user);
  return { user, number, page };
}

/** The same, at the challenge after the password. */
async function openPhoneChallenge() {
  const { user, number } = await createUserWithPhone();
  const page = await account.visit("/sign-in?next=%2Faccount%2Fsessions");
  await signIn(page, user);
  await heading(page, "One more step");
  await resendCountdown(page).waitFor();
  return { user, number, page };
}

test("a phone is set up with the code that is sent there, once", async () => {
  const { page } = await account.openSignedIn("/account/security");
  const number = newNumber();
  await page.getByRole("link", { name: "Add a phone" }).click();
  await heading(page, "Add a phone");
  await auditScreen(page, "phone-number");
  await field(page, "Phone number").fill("0170 1234567");
  await page.getByRole("button", { name: "Send code" }).click();
  await inField("Phone number", "Enter a number such as +49 170 1234567.")(page);
  await addPhone(page, number);
  await waitForText(page, `Sent to ${number}.`);
  await auditScreen(page, "phone-code");
  await field(page, inMessage).fill(wrongCode(sms.codeTo(number)));
  await inField(inMessage, "That code isn't right. Codes change every 30 seconds.")(page);
  await field(page, inMessage).fill(sms.codeTo(number));

  await waitForText(page, "Two-step verification is on.");
  await page.getByRole("list", { name: "Second steps" }).getByText("Text message").waitFor();
  await auditScreen(page, "security-phone");
  assert.deepEqual(
    sms.messagesTo(number).map(({ channel }) => channel),
    ["sms"],
  );
  await page.getByRole("link", { name: "Add a phone" }).click();
  await field(page, "Phone number").fill(number);
  await page.getByRole("button", { name: "Send code" }).click();
  await waitForAlert(page, "This number is already set up.");
});

test("a phone can be added after the page was loaded again, at either step", async () => {
  const { page, user } = await account.openSignedIn("/account/security/phone/new");
  const number = newNumber();
  await field(page, "Phone number").fill(number);
  await page.reload();
  await heading(page, "Add a phone");
  assert.equal(await field(page, "Phone number").inputValue(), "");
  await addPhone(page, number);
  await page.reload();
  await field(page, "Phone number").waitFor();
  assert.equal(await field(page, inMessage).count(), 0);
  await expireSendLimit(user);
  await addPhone(page, number);
  await field(page, inMessage).fill(sms.codeTo(number));
  await page.getByRole("list", { name: "Second steps" }).getByText("Text message").waitFor();
});

test("a set-up that was left is finished later", async () => {
  const { page, user } = await account.openSignedIn("/account/security");
  const number = newNumber();
  await page.getByRole("link", { name: "Add a phone" }).click();
  await field(page, "Phone number").fill(number);
  await page.getByRole("button", { name: "Send code" }).click();
  await resendCountdown(page).waitFor();
  await page.getByRole("link", { name: "Back", exact: true }).click();
  await page.getByRole("list", { name: "Unfinished set-up" }).getByText(number).waitFor();
  await expireSendLimit(user);
  await page.getByRole("button", { name: `Finish setting up ${number}` }).click();
  const dialog = page.getByRole("dialog", { name: "Finish setting up" });
  await resendCountdown(dialog).waitFor();
  await auditScreen(page, "phone-finish");
  assert.equal(sms.messagesTo(number).length, 2);
  await field(dialog, inMessage).fill(sms.codeTo(number));
  await waitForText(page, "Two-step verification is on.");
  await page.getByRole("list", { name: "Second steps" }).getByText(number).waitFor();
});

test("signing in sends a code at once, and another not before its time", async () => {
  const { page, number } = await openPhoneChallenge();
  assert.equal(sms.messagesTo(number).length, 2);
  await waitForText(page, `Sent to the number ending in ${number.slice(-2)}.`);
  assert.ok(!(await page.content()).includes(number), "nothing of the account is shown before this step");
  assert.ok(await resendCountdown(page).isDisabled());
  await waitForText(page, "You can ask again in 60 seconds.");
  await auditScreen(page, "mfa-phone");
  await field(page, inMessage).fill(wrongCode(sms.codeTo(number)));
  await inField(inMessage, "That code isn't right. Codes change every 30 seconds.")(page);
  await field(page, inMessage).fill(sms.codeTo(number));
  await heading(page, "Devices");
});

test("a page that is loaded again sends nothing more, and takes the code that came", async () => {
  const { page, number } = await openPhoneChallenge();
  await page.reload();
  await resendCountdown(page).waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.equal(sms.messagesTo(number).length, 2);
  await field(page, inMessage).fill(sms.codeTo(number));
  await heading(page, "Devices");
});

test("another device cannot send at once either, and sees how long to wait", async () => {
  const { user } = await openPhoneChallenge();
  const other = await account.visit("/sign-in");
  await signIn(other, user);
  await waitForAlert(other, /Please wait \d+ s before asking for another message\./);
  assert.ok(await resendCountdown(other).isDisabled());
  await auditScreen(other, "mfa-phone-limit");
});

test("a challenge that is over is made anew, with a new code", async () => {
  const { page, user, number } = await openPhoneChallenge();
  const release = await respondWithError(page, verify, "mfa_challenge_expired");
  await expireSendLimit(user);
  await field(page, inMessage).fill(sms.codeTo(number));
  await inField(inMessage, "Please enter a new code.")(page);
  await release();
  await sms.expectCount(number, 3);
  await resendCountdown(page).waitFor();
  await field(page, inMessage).fill("");
  await field(page, inMessage).fill(sms.codeTo(number));
  await heading(page, "Devices");
});

test("messages that cannot be sent say so, and can be asked for again", async () => {
  const { user, number } = await createUserWithPhone();
  const page = await account.visit("/sign-in");
  const reasons = [
    ["sms_send_failed", "We couldn't send the message. Check the number or try later."],
    ["mfa_phone_verify_not_enabled", "This method is turned off."],
    ["over_request_rate_limit", "Too many attempts. Try again in a few minutes."],
  ];
  const release = await intercept(page, challenge, (route, count) =>
    route.fulfill(errorResponse(reasons[count - 1][0])),
  );
  await signIn(page, user);
  await waitForAlert(page, reasons[0][1]);
  assert.equal(await page.getByText("Sent to").count(), 0);
  await auditScreen(page, "mfa-phone-unsent");
  const resend = page.getByRole("button", { name: "Send a new code", exact: true });
  for (const [, text] of reasons.slice(1)) {
    await resend.click();
    await waitForAlert(page, text);
  }
  await release();
  await resend.click();
  await waitForText(page, "Sent.");
  await field(page, inMessage).fill(sms.codeTo(number));
  await heading(page, "Profile");
});

test("who has both is asked for the one used last, and may take the other", async () => {
  const { page, user } = await openSignedInWithTotp(account);
  const number = newNumber();
  await addPhone(page, number);
  await field(page, inMessage).fill(sms.codeTo(number));
  await page.getByRole("list", { name: "Second steps" }).getByRole("listitem").nth(1).waitFor();
  await expireSendLimit(user);
  // Both were used; the phone is still the most recent one.
  const other = await account.visit("/sign-in");
  await signIn(other, user);
  await field(other, inMessage).waitFor();
  await other.getByRole("button", { name: "Try another way" }).click();
  await other
    .getByRole("button", { name: `Text message the number ending in ${number.slice(-2)}` })
    .waitFor();
  assert.ok(!(await other.content()).includes(number));
  await auditScreen(other, "mfa-choice");
  await other.getByRole("button", { name: /^Authenticator app/ }).click();
  await field(other, "Code from your authenticator app").fill(nextTotpCode(user.secret));
  await heading(other, "Profile");
});

test("factors that cannot be listed can be asked for again; without one nothing is asked", async () => {
  const { user } = await createUserWithPhone();
  const page = await account.visit("/sign-in");
  const release = await respondWithError(page, ["GET", /\/auth\/v1\/user$/], "conflict", { status: 409 });
  await signIn(page, user);
  await waitForAlert(page, "The server took too long or had a problem. Please try again.");
  await release();
  await page.getByRole("button", { name: "Try again" }).click();
  await field(page, inMessage).waitFor();

  const { page: free } = await account.openSignedIn();
  await free.goto(`${account.url}/sign-in/mfa?next=%2Faccount%2Fsessions`);
  await heading(free, "Devices");
});
