// Screenshots of the console on sample data: node scripts/screenshots.mjs <folder> [filter]
//
// Needs the development server (`PLINTH_SAMPLE=1 npx vite`) and a Chromium ($CHROMIUM, else the system's).

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { chromium } from "playwright-core";

const [folder = "screenshots", filter = ""] = process.argv.slice(2);
const origin = process.env.CONSOLE_ORIGIN ?? "http://localhost:5173";
const executablePath =
  process.env.CHROMIUM ??
  ["/usr/bin/chromium", "/usr/bin/chromium-headless-shell", "/usr/bin/google-chrome"].find((path) =>
    existsSync(path),
  );

/** The refs of the sample data. */
const { refOf } = await import("../src/platform/sample/refs.mjs");
const shop = `/project/${refOf(0)}`;

const press = (keys) => (page) => page.keyboard.press(keys);
const click = (name) => (page) => page.getByRole("button", { name, exact: false }).first().click();

const screens = [
  { name: "projects", path: "/" },
  { name: "projects-grouped", path: "/?group=true&sort=requests&desc=true" },
  { name: "projects-none", path: "/?q=zzzz" },
  { name: "projects-cards", path: "/", act: (page) => page.getByRole("button", { name: "Cards" }).click() },
  { name: "home", path: shop },
  { name: "home-new", path: `/project/${refOf(8)}` },
  { name: "home-unhealthy", path: `/project/${refOf(2)}` },
  { name: "home-paused", path: `/project/${refOf(4)}` },
  { name: "palette", path: shop, act: press("Control+k"), then: (page) => page.keyboard.type("or") },
  { name: "shortcuts", path: shop, act: press("Control+/") },
  { name: "jobs", path: shop, act: click("Jobs") },
  { name: "connect", path: shop, act: click("Connect"), wide: true },
  { name: "switcher", path: shop, act: click("Switch project") },
  { name: "profile", path: shop, act: click("Your account") },
  { name: "new-project", path: "/new" },
  { name: "not-found", path: "/nowhere" },
  { name: "kit", path: "/kit", full: true },
];
const widths = [390, 1024, 1440];
const themes = ["light", "dark"];

await mkdir(folder, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
for (const theme of themes) {
  for (const width of widths) {
    const context = await browser.newContext({
      viewport: { width, height: width < 500 ? 844 : 900 },
      colorScheme: theme,
      reducedMotion: "reduce",
      hasTouch: width < 500,
      isMobile: width < 500,
    });
    for (const { name, path, act, then, wide, full } of screens) {
      if (!`${name}-${width}-${theme}`.includes(filter) || (wide && width < 500)) continue;
      const page = await context.newPage();
      page.on("pageerror", (error) => console.error(`${name}: ${error.message}`));
      page.on(
        "console",
        (message) => message.type() === "error" && console.error(`${name}: ${message.text()}`),
      );
      await page.goto(`${origin}/console${path}`, { waitUntil: "load" });
      await page.getByRole("heading", { level: 1 }).waitFor({ timeout: 60_000 });
      // The kit shows skeletons for good.
      if (name !== "kit") {
        await page.waitForFunction(() => !document.querySelector('[role="status"] .animate-pulse'));
      }
      if (act) {
        await act(page);
        await page
          .locator('[role="dialog"], [role="menu"]')
          .first()
          .waitFor()
          .catch(() => {});
      }
      if (then) await then(page);
      await page.waitForTimeout(400);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (overflow > 0) console.error(`${name} at ${width} px: ${overflow} px too wide`);
      await page.screenshot({ path: join(folder, `${name}-${width}-${theme}.png`), fullPage: full ?? false });
      await page.close();
    }
    await context.close();
  }
}
await browser.close();
