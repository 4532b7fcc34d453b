import { expect, test } from "vitest";

import { findMark, markedProviders } from "./marks";

/** The providers of the auth contract §6.1. */
const known = `apple azure bitbucket discord facebook figma fly github gitlab google kakao keycloak linkedin
  linkedin_oidc notion slack slack_oidc snapchat spotify twitch twitter vercel_marketplace workos x zoom`.split(
  /\s+/,
);

test("every known provider has a mark", () => {
  expect(known.filter((provider) => !findMark(provider))).toEqual([]);
  expect(findMark("custom:acme")).toBeUndefined();
  expect(findMark("toString")).toBeUndefined();
});

test("no two providers look the same", () => {
  const looks = new Map<string, string[]>();
  for (const provider of markedProviders) {
    const { lines, shapes } = findMark(provider)!;
    const look = `${lines} ${shapes}`;
    looks.set(look, [...(looks.get(look) ?? []), provider]);
  }
  const shared = [...looks.values()].filter((providers) => providers.length > 1);
  expect(shared).toEqual([
    ["linkedin", "linkedin_oidc"],
    ["slack", "slack_oidc"],
    ["twitter", "x"],
  ]);
});
