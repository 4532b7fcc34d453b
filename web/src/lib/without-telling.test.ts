import { expect, test } from "vitest";

import { Failure } from "./failure";
import { withoutTelling } from "./without-telling";

const refused = (code: string) => Promise.reject(new Failure(code, ""));

test("too many messages to an address look like one that was sent", async () => {
  for (const code of ["over_email_send_rate_limit", "over_sms_send_rate_limit"]) {
    await expect(withoutTelling(refused(code))).resolves.toBeUndefined();
  }
});

test("an answer is passed on", async () => {
  await expect(withoutTelling(Promise.resolve({ session: null }))).resolves.toEqual({ session: null });
});

test("what else would tell of accounts is named by the page", async () => {
  await expect(withoutTelling(refused("otp_disabled"), ["otp_disabled"])).resolves.toBeUndefined();
  await expect(withoutTelling(refused("otp_disabled"))).rejects.toThrow(Failure);
});

test("failures that say nothing about an address are told", async () => {
  for (const code of ["over_request_rate_limit", "offline", "captcha_failed"]) {
    await expect(withoutTelling(refused(code))).rejects.toMatchObject({ code });
  }
});
