/** What failed calls say, by code of the server or of ours. The server's own words follow where they are for people. */
export const errors = {
  unknown: "The server refused without saying why.",
  codes: {
    offline: "The server cannot be reached. Check your connection.",
    server_error: "The server failed. Its log has the reason under the request id.",
    unexpected_answer:
      "The server’s answer is not what this console expects. Load the page again after an update.",
    session_not_found: "Your session has ended. Sign in again.",
    unauthorized: "Your session is no longer accepted. Sign in again.",
    no_authorization: "Your session is no longer accepted. Sign in again.",
    bad_jwt: "Your session is no longer accepted. Sign in again.",
    project_paused: "This project is paused.",
    over_request_rate_limit: "Too many requests. Try again in a moment.",
    invalid_credentials: "E-mail or password is wrong.",
    mfa_verification_failed: "This code is wrong or has expired.",
    setup_token_invalid: "This link is not valid any more. Make a new one with plinth admin setup-link.",
  } as Record<string, string>,
};
