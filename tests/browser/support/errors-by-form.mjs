// The error table of client contract 5.15, by form: error codes of the server, and where they are shown.

import { inBanner, inField, onPage } from "./error-responses.mjs";

const turnedOff = inBanner("This way of signing in is turned off.");
const methodOff = inBanner("This method is turned off.");
export const serverError = inBanner("The server took too long or had a problem. Please try again.");
export const tooManyRequests = inBanner("Too many attempts. Try again in a few minutes.");
const noSso = inBanner("No single sign-on is set up for this domain.");
const checkFailed = inBanner("The check failed. Please try it again.");
const managed = inBanner("Your organisation manages this; change it there.");
const taken = inBanner("An account with this e-mail already exists. Sign in or reset your password.");
export const banned = onPage("This account is suspended", "This account is suspended. Contact support.");
const wait = (seconds) => inBanner(`Please wait ${seconds} s before asking for another message.`);
const badEmail = (label) => inField(label, "Enter a valid e-mail address.");
const noMail = (label) => inField(label, "We can't send mail to this address. Contact the operator.");
const badCode = (label) => inField(label, "Wrong or expired code.");

const inApp = "Code from your authenticator app";
const length = { weak_password: { reasons: ["length"] } };
const characters = { weak_password: { reasons: ["characters"] } };
const pwned = { weak_password: { reasons: ["pwned", "length"] } };
const weak = (label) => [
  ["weak_password", inField(label, "Use more characters."), length],
  ["weak_password", inField(label, "Add the missing kinds of characters."), characters],
  [
    "weak_password",
    inField(label, "This password appeared in a data leak; choose another. Use more characters."),
    pwned,
  ],
];
const appCode = [
  ["mfa_verification_failed", inField(inApp, "That code isn't right. Codes change every 30 seconds.")],
  ["mfa_challenge_expired", inField(inApp, "Please enter a new code.")],
  [
    "mfa_ip_address_mismatch",
    inField(inApp, "Your network changed in between. Please start this step again."),
  ],
  ["mfa_verification_rejected", inField(inApp, "Not before nine."), { message: "Not before nine." }],
  ["mfa_totp_verify_not_enabled", methodOff],
  ["mfa_factor_not_found", inBanner("That method no longer exists.")],
];

/** By form: code, placement, and further parts of the response. After each, the form can be submitted again. */
export const errorsByForm = {
  "sign in": [
    ["invalid_credentials", inBanner("E-mail or password is wrong."), { status: 400 }],
    ["email_not_confirmed", inBanner("Confirm your e-mail first."), { status: 400 }],
    ["phone_not_confirmed", inBanner("Confirm your phone first."), { status: 400 }],
    ["email_address_invalid", badEmail("E-mail")],
    ["validation_failed", badEmail("E-mail"), { status: 400 }],
    ["email_provider_disabled", turnedOff],
    ["anonymous_provider_disabled", turnedOff],
    ["captcha_failed", checkFailed, { status: 400 }],
    ["hook_timeout", serverError],
    ["hook_timeout_after_retry", serverError],
    ["request_timeout", serverError, { status: 504 }],
    ["conflict", serverError, { status: 409 }],
    ["feature_disabled", inBanner("This isn't available here.")],
    ["csrf_rejected", inBanner("Please reload the page and try again."), { status: 403 }],
    ["brand_new", inBanner("Something went wrong. Please try again. (brand_new)")],
    [
      "brand_new",
      inBanner("Something went wrong. Please try again. (brand_new, request r-1)"),
      { headers: { "x-request-id": "r-1" } },
    ],
  ],
  "sign up": [
    ["user_already_exists", taken],
    ["email_exists", taken],
    ["email_address_invalid", badEmail("E-mail")],
    ["validation_failed", badEmail("E-mail")],
    ["email_address_not_authorized", noMail("E-mail")],
    ...weak("Password"),
    ["signup_disabled", turnedOff],
    ["email_provider_disabled", turnedOff],
    ["captcha_failed", checkFailed],
  ],
  "code after sign-up": [["otp_expired", badCode("Code from the mail"), { status: 403 }]],
  "ask for a code": [
    ["email_address_invalid", badEmail("E-mail")],
    ["validation_failed", badEmail("E-mail")],
    ["email_address_not_authorized", noMail("E-mail")],
    ["email_provider_disabled", turnedOff],
    ["captcha_failed", checkFailed],
  ],
  "ask for a text message": [
    ["validation_failed", inField("Phone number", "Enter a number such as +49 170 1234567.")],
    ["phone_provider_disabled", turnedOff],
    ["sms_send_failed", inBanner("We couldn't send the message. Check the number or try later.")],
  ],
  "sign in with a code": [["otp_expired", badCode("Code"), { status: 403 }]],
  "single sign-on": [
    ["sso_provider_not_found", noSso, { status: 404 }],
    ["sso_provider_disabled", noSso],
    ["saml_idp_not_found", noSso, { status: 404 }],
    ["saml_provider_disabled", noSso],
  ],
  "second step": appCode,
  "forgot password": [
    ["email_address_invalid", badEmail("E-mail")],
    ["validation_failed", badEmail("E-mail")],
    ["email_address_not_authorized", noMail("E-mail")],
    ["captcha_failed", checkFailed],
  ],
  "code of a reset": [["otp_expired", badCode("Code from the mail"), { status: 403 }]],
  "reset password": [
    ["same_password", inField("New password", "Choose a password you haven't used here.")],
    ...weak("New password"),
    ["user_sso_managed", managed],
  ],
  profile: [
    ["validation_failed", inBanner("Something in this form isn't right. Please check it.")],
    ["user_sso_managed", managed],
  ],
  "change e-mail": [
    ["email_exists", inField("New e-mail", "That address can't be used.")],
    ["email_address_invalid", badEmail("New e-mail")],
    ["validation_failed", badEmail("New e-mail")],
    ["email_address_not_authorized", noMail("New e-mail")],
    ["user_sso_managed", managed],
    ["over_email_send_rate_limit", wait(42), { status: 429, headers: { "retry-after": "42" } }],
    ["over_email_send_rate_limit", wait(5), { status: 429, message: "only after 5 seconds." }],
    ["over_email_send_rate_limit", wait(60), { status: 429 }],
  ],
  "code of a new e-mail": [["otp_expired", badCode("Code from the mail"), { status: 403 }]],
  "change password": [
    ["same_password", inField("New password", "Choose a password you haven't used here.")],
    ...weak("New password"),
    ["user_sso_managed", managed],
  ],
  "name of an app": [
    ["mfa_factor_name_conflict", inField("Name", "You already have a method with this name.")],
    ["too_many_enrolled_mfa_factors", inBanner("Remove a method before adding another.")],
    ["mfa_totp_enroll_not_enabled", methodOff],
  ],
  "first code of an app": appCode,
  "new phone": [
    ["phone_exists", inField("Phone number", "That number can't be used.")],
    ["validation_failed", inField("Phone number", "Enter a number such as +49 170 1234567.")],
    ["mfa_verified_factor_exists", inBanner("This number is already set up.")],
    ["too_many_enrolled_mfa_factors", inBanner("Remove a method before adding another.")],
    ["mfa_phone_enroll_not_enabled", methodOff],
  ],
  "delete account": [["feature_disabled", inBanner("This isn't available here.")]],
};

/** Errors that any form may receive. */
export const errorsOfAnyForm = [
  ["unexpected_failure", serverError, { status: 500 }],
  ["over_request_rate_limit", tooManyRequests, { status: 429 }],
];
