// The lint rules of `.oxlintrc.json` that hold the layers must fire: a pattern that never matches looks the
// same as a clean tree.

import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, expect, test } from "vitest";

const web = fileURLToPath(new URL("..", import.meta.url));

/** Where an import stands, and what it imports. */
const forbidden = [
  ["src/texts/a.ts", "../lib/http"],
  ["src/lib/a.ts", "../components/button"],
  ["src/lib/a.ts", "../visitor/lib/session"],
  ["src/lib/a.ts", "../platform/settings"],
  ["src/components/a.tsx", "../visitor/lib/captcha"],
  ["src/components/a.tsx", "../platform/settings"],
  ["src/visitor/routes/a.tsx", "../../platform/settings"],
  ["src/platform/routes/a.tsx", "../../visitor/lib/session"],
  ["src/visitor/features/security/a.tsx", "../sessions/api"],
  ["src/platform/features/projects/a.tsx", "../home/api"],
  ["src/platform/features/projects/a.tsx", "../../routes/home"],
  ["src/platform/features/projects/a.tsx", "../../shell/header"],
  ["src/platform/texts/en/a.ts", "../../lib/api"],
];
const allowed = [
  ["src/lib/a.ts", "../texts/words"],
  ["src/components/a.tsx", "../lib/http"],
  ["src/components/a.tsx", "./button"],
  ["src/visitor/texts/en/a.ts", "../../../texts/plural"],
  ["src/visitor/features/security/a.tsx", "../../../components/button"],
  ["src/platform/features/projects/a.tsx", "./api"],
  ["src/platform/features/projects/a.tsx", "../../lib/api"],
  ["src/platform/routes/a.tsx", "../features/projects/list"],
];

let folder;
let output;
const fileOf = ([path], group, index) => path.replace(/a\.(tsx?)$/, `${group}-${index}.$1`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "layers-"));
  // The patterns of a configuration are relative to its folder.
  await copyFile(join(web, ".oxlintrc.json"), join(folder, ".oxlintrc.json"));
  const write = async (cases, group) => {
    for (const [index, entry] of cases.entries()) {
      const file = join(folder, fileOf(entry, group, index));
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, `import { x } from "${entry[1]}";\nexport const y = x;\n`);
    }
  };
  await write(forbidden, "forbidden");
  await write(allowed, "allowed");
  const args = ["--format=json", "src"];
  output = await new Promise((resolve) => {
    execFile(join(web, "node_modules/.bin/oxlint"), args, { cwd: folder }, (_error, stdout) =>
      resolve(stdout),
    );
  });
});
afterAll(() => rm(folder, { recursive: true }));

const isReported = (file) =>
  JSON.parse(output).diagnostics.some(
    ({ code, filename }) => code.includes("no-restricted-imports") && filename.endsWith(file),
  );

test.each(forbidden.map((entry, index) => [...entry, fileOf(entry, "forbidden", index)]))(
  "%s may not import %s",
  (_path, _import, file) => expect(isReported(file)).toBe(true),
);

test.each(allowed.map((entry, index) => [...entry, fileOf(entry, "allowed", index)]))(
  "%s may import %s",
  (_path, _import, file) => expect(isReported(file)).toBe(false),
);
