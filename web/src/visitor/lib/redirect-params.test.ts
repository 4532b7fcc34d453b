import { expect, test } from "vitest";

import {
  redirectErrorCode,
  readRedirectParams,
  consumeRedirectParams,
  stripSecrets,
} from "./redirect-params";

const read = (url: string) => readRedirectParams(new URL(url, "https://app.test"));

test("an e-mail link has a token hash and a type", () => {
  expect(read("/confirm?token_hash=pkce_a&type=signup&next=%2Fx")).toEqual({
    code: null,
    tokenHash: "pkce_a",
    type: "signup",
    error: null,
    message: null,
  });
});

test("errors are read from query and fragment, and the query wins", () => {
  const { error } = read("/callback?error_code=bad_oauth_state#error=server_error&error_code=x&sb=");
  expect(error).toEqual({ error: "server_error", code: "bad_oauth_state" });
});

test("only well-formed codes are taken from a URL", () => {
  const code = (query: string) => redirectErrorCode(read(`/callback?${query}`).error!);
  expect(code("error=server_error&error_code=bad_oauth_state")).toBe("bad_oauth_state");
  expect(code("error=temporarily_unavailable&error_code=400")).toBe("temporarily_unavailable");
  expect(code("error=access_denied")).toBe("access_denied");
  expect(code("error=access_denied&error_code=bad_oauth_callback")).toBe("access_denied");
  expect(code("error=access_denied&error_code=otp_expired")).toBe("otp_expired");
  for (const invalid of ["Call +1 555 0100", "", "a".repeat(65), "Constructor"]) {
    expect(code(`error=${encodeURIComponent(invalid)}`)).toBe("unexpected_failure");
    expect(code(`error=server_error&error_code=${encodeURIComponent(invalid)}`)).toBe("unexpected_failure");
  }
});

test("no secret stays in the URL", () => {
  const clean = (url: string) => stripSecrets(new URL(url, "https://app.test"));
  expect(clean("/confirm?next=%2Fx&token_hash=a&type=signup")).toBe("/confirm?next=%2Fx");
  expect(clean("/callback?code=a&linked=github#access_token=b")).toBe("/callback?linked=github");
  const tokens = "access_token=a&refresh_token=b&provider_token=c&provider_refresh_token=d&token=e";
  expect(clean(`/sign-in?${tokens}&reason=expired`)).toBe("/sign-in?reason=expired");
});

/** Opens a URL with a history state; returns the parameters and the resulting URL and state. */
function open(address: string, state: unknown = null) {
  const now = { state, address };
  const history = {
    get state() {
      return now.state;
    },
    replaceState: (next: unknown, _title: string, url: string) =>
      Object.assign(now, { state: next, address: url }),
  } as unknown as History;
  const location = new URL(address, "https://app.test") as unknown as Location;
  return { redirectParams: consumeRedirectParams({ location, history }), ...now };
}

const noParams = { code: null, tokenHash: null, type: null, error: null, message: null };

test("every page strips its URL; only redirect targets use the parameters", () => {
  const carried = { email: "ann@mail.dev" };
  const addresses = {
    "/sign-in#access_token=x&refresh_token=y": "/sign-in",
    "/sign-in?next=%2Fx&code=z#error=e": "/sign-in?next=%2Fx",
    "/account?token_hash=a&type=recovery": "/account",
    "/confirm/more?code=a": "/confirm/more",
  };
  for (const [address, clean] of Object.entries(addresses)) {
    expect(open(address, carried)).toEqual({ redirectParams: noParams, state: carried, address: clean });
  }
});

test("a URL without secrets is unchanged", () => {
  for (const address of ["/sign-in?next=/x%20y&reason=expired", "/account"]) {
    expect(open(address, 1)).toEqual({ redirectParams: noParams, state: 1, address });
  }
});

test("an unused link survives a reload, and tokens next to it are removed", () => {
  const first = open("/confirm?token_hash=a&type=signup&next=%2Fx");
  expect(first.redirectParams).toEqual({ ...noParams, tokenHash: "a", type: "signup" });
  expect(first.address).toBe("/confirm?next=%2Fx");
  expect(open(first.address, first.state).redirectParams).toEqual(first.redirectParams);
  expect(open(`${first.address}#access_token=x`, first.state)).toEqual(first);
});
