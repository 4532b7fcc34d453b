// Asking for a message as a guest. Whoever asks must not learn whether an address has an account (client
// contract U4), and only an address that has one can have got too many messages: a refusal for that looks
// like a message that was sent.

import { isSendLimit } from "./error-text";
import { toFailure } from "./failure";

/**
 * Waits for a call that sends a message, and answers with what it answers. Failures that tell of accounts are
 * kept, and there is no answer then; all others are thrown.
 */
export async function withoutTelling<T>(sending: Promise<T>, alsoKept: readonly string[] = []) {
  try {
    return await sending;
  } catch (error) {
    const failure = toFailure(error);
    if (!isSendLimit(failure) && !alsoKept.includes(failure.code)) throw failure;
    return undefined;
  }
}
