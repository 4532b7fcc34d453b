// Before the second factor is verified, no account data is shown (client contract 5.7). Phone factors are
// usually named by their number, so it is masked.

import type { Factor } from "@supabase/auth-js";

import { texts } from "../../texts";

/** The last two digits of shorter numbers would reveal too much. */
const minMaskableDigits = 7;

/** Replaces a phone factor's name by the last two digits of its number. */
export function maskPhoneFactor(factor: Factor): Factor {
  if (factor.factor_type !== "phone") return factor;
  const { friendly_name: name, ...rest } = factor;
  const digits = name?.replace(/\D/g, "") ?? "";
  if (digits.length < minMaskableDigits) return rest;
  return { ...rest, friendly_name: texts.secondStep.numberEndingIn(digits.slice(-2)) };
}
