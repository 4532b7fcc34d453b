// Prevents user enumeration when a guest requests an e-mail or text message (client contract U4). Only an
// address with an account can hit the send rate limit, so that error is treated as success.

import { isSendRateLimit } from "./error-text";
import { toFailure } from "../../lib/failure";

/** Awaits a call that sends a message. Resolves to `undefined` for errors that reveal whether an account exists. */
export async function hideAccountExistence<T>(request: Promise<T>, alsoHidden: readonly string[] = []) {
  try {
    return await request;
  } catch (error) {
    const failure = toFailure(error);
    if (!isSendRateLimit(failure) && !alsoHidden.includes(failure.code)) throw failure;
    return undefined;
  }
}
