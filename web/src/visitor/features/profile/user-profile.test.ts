import type { User } from "@supabase/auth-js";
import { describe, expect, test } from "vitest";

import { isEmailVerified } from "./user-profile";

const createdAt = "2026-01-02T03:04:05.000Z";
const later = "2026-01-02T03:09:00.000Z";

const user = (attributes: object) =>
  ({ id: "1", email: "ann@mail.dev", created_at: createdAt, ...attributes }) as unknown as User;

const identity = (provider: string, data: object) => ({ provider, identity_data: data });

describe("an address is verified", () => {
  test("by a message that was used", () => {
    for (const sent of ["confirmation_sent_at", "email_change_sent_at", "invited_at"]) {
      expect(isEmailVerified(user({ email_confirmed_at: later, [sent]: createdAt }), true)).toBe(true);
    }
  });

  test("by a provider that verified it", () => {
    const github = (email: string, email_verified: boolean) =>
      user({
        email_confirmed_at: createdAt,
        identities: [identity("github", { email, email_verified })],
      });
    expect(isEmailVerified(github("Ann@mail.dev", true), true)).toBe(true);
    expect(isEmailVerified(github("ann@mail.dev", false), true)).toBe(false);
    expect(isEmailVerified(github("other@mail.dev", true), true)).toBe(false);
  });

  test("by a later confirmation", () => {
    expect(isEmailVerified(user({ email_confirmed_at: later }), false)).toBe(true);
  });
});

describe("an address is not verified", () => {
  test("by a project that does not ask", () => {
    const identities = [identity("email", { email: "ann@mail.dev", email_verified: true })];
    const confirmed = { email_confirmed_at: "2026-01-02T03:04:05.120Z", identities };
    expect(isEmailVerified(user(confirmed), true)).toBe(false);
    expect(isEmailVerified(user(confirmed), false)).toBe(false);
    expect(isEmailVerified(user({ email_confirmed_at: later }), true)).toBe(false);
  });

  test("while it is not confirmed", () => {
    expect(isEmailVerified(user({ confirmation_sent_at: createdAt }), false)).toBe(false);
    expect(isEmailVerified(user({ email: "", email_confirmed_at: later }), false)).toBe(false);
  });
});
