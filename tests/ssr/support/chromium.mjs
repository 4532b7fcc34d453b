// A real browser for the example's page. Requests for the published packages at esm.sh are served from
// `node_modules`, without any network.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { launchBrowser } from "../../browser/support/chromium.mjs";

const require = createRequire(import.meta.url);

/** A browser, and `visit(url)`, which opens a page in a new context. */
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

/** The module that esm.sh would return: imports are URLs. */
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
  const requested = join(folder, path.replace("/ssr/", ""));
  const candidates = [requested, `${requested}.js`].filter((name) => name.endsWith(".js"));
  const file = candidates.find((name) => existsSync(name));
  // A folder import resolves to its index file.
  if (!file) return `export * from "${packageServer}${path.slice(1)}/index.js";`;
  return (await readFile(file, "utf8"))
    .replaceAll('"@supabase/supabase-js"', `"${packageServer}supabase-js"`)
    .replaceAll('"cookie"', `"${packageServer}cookie"`);
}

/** Wraps a CommonJS script as an ES module. */
function asModule(script, names) {
  const exported = names.map((name) => `export const ${name} = module.exports.${name};`).join("\n");
  return `const module = { exports: {} };\nconst exports = module.exports;\n${script}\n${exported}\n`;
}
