import { expect, test } from "vitest";

import { parseSettings } from "./settings";

const complete = {
  mount: "/base/console",
  apiUrl: "https://plinth.example/base",
  projectUrl: "https://plinth.example/base/p/platform",
  key: "sb_publishable_x",
  storageKey: "sb-platform-auth-token",
  cookiePath: "/",
  otherProjects: ["/base/p/abc"],
  instanceName: "Harbour",
  version: "1.2.3",
};

test("a complete page is read, and members of newer servers are ignored", () => {
  expect(parseSettings(JSON.stringify({ ...complete, newer: true }))).toEqual(complete);
});

test("the console may stand at the root of a host", () => {
  expect(parseSettings(JSON.stringify({ ...complete, mount: "" })).mount).toBe("");
});

test.each([
  ["mount", "/console/"],
  ["mount", "console"],
  ["storageKey", ""],
  ["cookiePath", "p"],
  ["otherProjects", "/p/abc"],
  ["apiUrl", undefined],
])("%s: %j is refused by name", (member, value) => {
  const text = JSON.stringify({ ...complete, [member]: value });

  expect(() => parseSettings(text)).toThrow(`plinth-console.${member}`);
});
