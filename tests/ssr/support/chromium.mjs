// A real browser that finds the published packages where the example's page looks for them, without
// any network: requests to the package server are answered from `node_modules`.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { launchBrowser } from "../../browser/support/chromium.mjs";

const require = createRequire(import.meta.url);

/** A browser, and `visit(url)`: a page in a profile of its own. */
export async function openChromium() {
  const browser = await launchBrowser();
  return { visit, close: () => browser.close() };

  async function visit(url) {
    const context = await browser.newContext();
    await context.route("https://esm.sh/**", servePackages);
    const page = await context.newPage();
    await page.goto(url);
    return page;
  }
}

const packageServer = "https://esm.sh/";

async function servePackages(route) {
  const { pathname } = new URL(route.request().url());
  const headers = { "access-control-allow-origin": "*" };
  await route.fulfill({ contentType: "text/javascript", headers, body: await moduleAt(pathname) });
}

/** What the server of packages would answer: modules that name each other by URL. */
async function moduleAt(path) {
  if (path === "/supabase-js") {
    const umd = await readFile(require.resolve("@supabase/supabase-js/dist/umd/supabase.js"), "utf8");
    return `${umd}\nexport const { createClient } = supabase;\n`;
  }
  if (path === "/cookie") {
    return asModule(await readFile(require.resolve("cookie"), "utf8"), ["parse", "serialize"]);
  }
  if (path.startsWith("/@supabase/ssr@")) return `export * from "${packageServer}ssr/index.js";`;
  const folder = join(dirname(require.resolve("@supabase/ssr")), "../module");
  const wanted = join(folder, path.replace("/ssr/", ""));
  const candidates = [wanted, `${wanted}.js`].filter((name) => name.endsWith(".js"));
  const file = candidates.find((name) => existsSync(name));
  // A folder stands for its index, which has to be loaded from inside the folder.
  if (!file) return `export * from "${packageServer}${path.slice(1)}/index.js";`;
  return (await readFile(file, "utf8"))
    .replaceAll('"@supabase/supabase-js"', `"${packageServer}supabase-js"`)
    .replaceAll('"cookie"', `"${packageServer}cookie"`);
}

/** A script for Node as a module. */
function asModule(script, names) {
  const exported = names.map((name) => `export const ${name} = module.exports.${name};`).join("\n");
  return `const module = { exports: {} };\nconst exports = module.exports;\n${script}\n${exported}\n`;
}
