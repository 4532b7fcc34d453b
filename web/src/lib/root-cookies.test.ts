import { expect, test } from "vitest";

import { removeRootCookies } from "./root-cookies";

function removed(cookies: string, path: string): string[] {
  const writes: string[] = [];
  const jar = {
    get cookie() {
      return cookies;
    },
    set cookie(text: string) {
      writes.push(text);
    },
  };
  removeRootCookies(jar, "sb-x-auth-token", path);
  return writes;
}

test("a project below a path leaves no session at the root", () => {
  const cookies =
    "a=1; sb-x-auth-token.0=b=c; sb-x-auth-token-code-verifier=v; sb-x-auth-tokens=d; sb-y-auth-token=e";

  expect(removed(cookies, "/p/x")).toEqual([
    "sb-x-auth-token.0=; Max-Age=0; Path=/; SameSite=Lax",
    "sb-x-auth-token-code-verifier=; Max-Age=0; Path=/; SameSite=Lax",
  ]);
});

test("the default project's session stays at the root", () => {
  expect(removed("sb-x-auth-token=a", "/")).toEqual([]);
  expect(removed("", "/p/x")).toEqual([]);
});
