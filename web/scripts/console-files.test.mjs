import { expect, test } from "vitest";

import { consoleFiles } from "./console-files.mjs";

const manifest = {
  "console.html": {
    file: "assets/console.js",
    isEntry: true,
    imports: ["_shared.js"],
    dynamicImports: ["src/platform/routes/home.tsx", "src/platform/shell/palette.tsx"],
  },
  "index.html": { file: "assets/index.js", isEntry: true },
  "_shared.js": { file: "assets/shared.js" },
  "_chart.js": { file: "assets/chart.js", imports: ["_shared.js"] },
  "src/platform/routes/home.tsx": {
    file: "assets/home.js",
    isDynamicEntry: true,
    imports: ["console.html", "_chart.js"],
  },
  "src/platform/shell/palette.tsx": {
    file: "assets/palette.js",
    isDynamicEntry: true,
    imports: ["_shared.js"],
  },
  "src/visitor/routes/sso.tsx": { file: "assets/sso.js", isDynamicEntry: true },
};

test("a screen is counted without the frame, and the account pages are not part of it", () => {
  expect(consoleFiles(manifest)).toEqual({
    frame: ["assets/console.js", "assets/shared.js"],
    screens: [{ name: "src/platform/routes/home.tsx", files: ["assets/home.js", "assets/chart.js"] }],
    parts: [{ name: "src/platform/shell/palette.tsx", files: ["assets/palette.js"] }],
  });
});

test("a manifest without the console, or with screens inside the frame, is an error", () => {
  const { "console.html": entry, "src/platform/routes/home.tsx": _, ...rest } = manifest;
  expect(() => consoleFiles(rest)).toThrow("console.html is not an entry");
  expect(() => consoleFiles({ ...rest, "console.html": entry })).toThrow("no screen is a chunk of its own");
});
