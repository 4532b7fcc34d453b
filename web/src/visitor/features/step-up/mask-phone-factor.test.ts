import type { Factor } from "@supabase/auth-js";
import { expect, test } from "vitest";

import { maskPhoneFactor } from "./mask-phone-factor";

const factor = (factor_type: string, friendly_name?: string) =>
  ({ id: "1", factor_type, friendly_name }) as unknown as Factor;

test("only the last two digits of a number are shown", () => {
  const { friendly_name } = maskPhoneFactor(factor("phone", "+49 170 1234567"));
  expect(friendly_name).toBe("the number ending in 67");
});

test("a phone that is not named by a number has no name", () => {
  for (const name of ["Ann's own", "Room 42", "", undefined]) {
    expect(maskPhoneFactor(factor("phone", name))).not.toHaveProperty("friendly_name");
  }
});

test("other factors keep their names", () => {
  const app = factor("totp", "Tablet 1234567");
  expect(maskPhoneFactor(app)).toBe(app);
});
