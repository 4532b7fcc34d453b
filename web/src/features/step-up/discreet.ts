// Before the second step nothing of the account is shown (client contract 5.7), and a phone is mostly named
// by its number.

import type { Factor } from "@supabase/auth-js";

import * as texts from "../../texts";

/** Shorter ones could be guessed from their end. */
const shortestNumber = 7;

/** A factor to ask for: of a phone it says just enough to know which one to take. */
export function discreet(factor: Factor): Factor {
  if (factor.factor_type !== "phone") return factor;
  const { friendly_name: name, ...rest } = factor;
  const digits = name?.replace(/\D/g, "") ?? "";
  if (digits.length < shortestNumber) return rest;
  return { ...rest, friendly_name: texts.secondStep.numberEndingIn(digits.slice(-2)) };
}
