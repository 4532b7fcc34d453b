import { expect, test } from "vitest";

import { guestFiles } from "./guest-files.mjs";

const manifest = {
  "index.html": {
    file: "assets/index.js",
    isEntry: true,
    imports: ["_shared.js"],
    dynamicImports: ["src/account/member-app.tsx", "src/account/routes/sso.tsx"],
  },
  "_shared.js": { file: "assets/shared.js" },
  "src/account/routes/sso.tsx": { file: "assets/sso.js", isDynamicEntry: true, imports: ["_shared.js"] },
  "src/account/member-app.tsx": {
    file: "assets/member-app.js",
    isDynamicEntry: true,
    imports: ["index.html", "_cards.js"],
  },
  "_cards.js": { file: "assets/cards.js" },
  "console.html": { file: "assets/console.js", isEntry: true },
  "style.css": { file: "assets/style.css", isEntry: true },
};

test("a guest page counts, however it is loaded; what members see does not", () => {
  expect(guestFiles(manifest)).toEqual(["assets/index.js", "assets/shared.js", "assets/sso.js"]);
});

test("what is left out must be there to be left out", () => {
  const { "src/account/member-app.tsx": _, ...rest } = manifest;
  expect(() => guestFiles(rest)).toThrow("member-app.tsx is no chunk of its own");
});
