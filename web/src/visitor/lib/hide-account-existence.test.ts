import { expect, test } from "vitest";

import { Failure } from "../../lib/failure";
import { hideAccountExistence } from "./hide-account-existence";

const failWith = (code: string) => Promise.reject(new Failure(code, ""));

test("a send rate limit looks like a sent message", async () => {
  for (const code of ["over_email_send_rate_limit", "over_sms_send_rate_limit"]) {
    await expect(hideAccountExistence(failWith(code))).resolves.toBeUndefined();
  }
});

test("a result is passed on", async () => {
  await expect(hideAccountExistence(Promise.resolve({ session: null }))).resolves.toEqual({ session: null });
});

test("the caller names further codes that reveal accounts", async () => {
  await expect(hideAccountExistence(failWith("otp_disabled"), ["otp_disabled"])).resolves.toBeUndefined();
  await expect(hideAccountExistence(failWith("otp_disabled"))).rejects.toThrow(Failure);
});

test("failures that do not depend on the address are thrown", async () => {
  for (const code of ["over_request_rate_limit", "offline", "captcha_failed"]) {
    await expect(hideAccountExistence(failWith(code))).rejects.toMatchObject({ code });
  }
});
