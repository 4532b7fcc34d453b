// A one-page application in a real browser.
//
// The page creates `client` from the published bundle; paths below /pkce use the PKCE flow, all others the
// implicit one. `events` are the auth state changes.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";

import { startAccounts } from "../../js-clients/support/accounts.mjs";
import { launchBrowser } from "./chromium.mjs";

const require = createRequire(import.meta.url);
const bundle = new URL(`file://${require.resolve("@supabase/supabase-js/dist/umd/supabase.js")}`);

/** A Plinth, an application on another origin, and a browser. */
export async function openSite(settings = {}, files = {}) {
  const server = createServer();
  server.listen(0, "localhost");
  await once(server, "listening");
  const url = `http://localhost:${server.address().port}`;
  const cleanups = [() => server.close()];
  const stop = async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  };
  try {
    const plinth = await startAccounts({ "auth.site_url": url, ...settings }, files);
    cleanups.push(plinth.stop);
    server.on("request", await requestHandler(plinth));
    const browser = await launchBrowser();
    cleanups.push(() => browser.close());
    return { url, plinth, browser, visit: (path) => visit(browser, url + path), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function requestHandler(plinth) {
  const script = await readFile(bundle);
  const html = page(plinth);
  return (request, response) => {
    const isScript = request.url === "/supabase.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : html);
  };
}

const page = ({ apiUrl, keys }) => `<!doctype html>
<html lang="en">
<title>An application</title>
<script src="/supabase.js"></script>
<script>
  const flowType = location.pathname.startsWith("/pkce") ? "pkce" : "implicit";
  var client = supabase.createClient("${apiUrl}", "${keys.publishable}", { auth: { flowType } });
  var events = [];
  client.auth.onAuthStateChange((event) => events.push(event));
  // A serializable result, to return from page.evaluate.
  const toResult = async (call) => {
    const { data, error } = await call;
    if (!error) return { data, error };
    const { name, message, status, code } = error;
    return { data, error: { name, message, status, code } };
  };
</script>
</html>
`;

/** A page in a new browser context. */
async function visit(browser, url) {
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.goto(url);
  return tab;
}
