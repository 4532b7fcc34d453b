import { expect, test } from "vitest";

import { guestFiles, languages } from "./guest-files.mjs";

const manifest = {
  "index.html": {
    file: "assets/index.js",
    isEntry: true,
    imports: ["_shared.js"],
    dynamicImports: [
      "src/visitor/signed-in-app.tsx",
      "src/visitor/routes/sso.tsx",
      "src/visitor/texts/de/index.ts",
      "src/visitor/texts/en/index.ts",
    ],
  },
  "src/visitor/texts/de/index.ts": { file: "assets/de.js", isDynamicEntry: true },
  "src/visitor/texts/en/index.ts": { file: "assets/en.js", isDynamicEntry: true },
  "_shared.js": { file: "assets/shared.js" },
  "src/visitor/routes/sso.tsx": { file: "assets/sso.js", isDynamicEntry: true, imports: ["_shared.js"] },
  "src/visitor/signed-in-app.tsx": {
    file: "assets/signed-in-app.js",
    isDynamicEntry: true,
    imports: ["index.html", "_cards.js"],
  },
  "_cards.js": { file: "assets/cards.js" },
  "console.html": { file: "assets/console.js", isEntry: true },
  "style.css": { file: "assets/style.css", isEntry: true },
};

test("a guest page counts, however it is loaded, and one language; the signed-in app does not", () => {
  const files = ["assets/index.js", "assets/shared.js", "assets/sso.js"];
  expect(guestFiles(manifest, "de")).toEqual([...files, "assets/de.js"]);
  expect(guestFiles(manifest, "en")).toEqual([...files, "assets/en.js"]);
  expect(languages(manifest)).toEqual(["de", "en"]);
});

test("a manifest without the signed-in app is an error", () => {
  const { "src/visitor/signed-in-app.tsx": _, ...rest } = manifest;
  expect(() => guestFiles(rest)).toThrow("signed-in-app.tsx is not a separate chunk");
});
