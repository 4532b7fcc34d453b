import { expect, test } from "vitest";

import { readArrival, withoutSecrets } from "./arrival";

const read = (url: string) => readArrival(new URL(url, "https://app.test"));

test("a link of a mail brings its hash and its kind", () => {
  expect(read("/confirm?token_hash=pkce_a&type=signup&next=%2Fx")).toEqual({
    code: null,
    tokenHash: "pkce_a",
    type: "signup",
    error: null,
    message: null,
  });
});

test("errors are read from both parts, and the query wins", () => {
  const { error } = read("/callback?error_code=bad_oauth_state#error=server_error&error_code=x&sb=");
  expect(error).toEqual({ error: "server_error", code: "bad_oauth_state", description: "" });
});

test("nothing secret stays in the address", () => {
  const clean = (url: string) => withoutSecrets(new URL(url, "https://app.test"));
  expect(clean("/confirm?next=%2Fx&token_hash=a&type=signup")).toBe("/confirm?next=%2Fx");
  expect(clean("/callback?code=a&linked=github#access_token=b")).toBe("/callback?linked=github");
});
