// The system's Chromium; nothing is downloaded.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

import { chromium } from "playwright-core";

const findProgram = (name) =>
  process.env.PATH.split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));

// The one without a user interface takes half of the processor time.
const executablePath = findProgram("chromium-headless-shell") ?? findProgram("chromium");
const args = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-gpu",
  "--disable-sync",
  "--no-first-run",
  "--no-sandbox",
];

/** Fails if there is none: the tests must not be skipped silently. */
export async function launchBrowser() {
  if (!executablePath)
    throw new Error("There is no chromium in PATH; as root `cargo xtask test` installs it");
  return chromium.launch({ executablePath, args });
}

/** A virtual authenticator that confirms user presence automatically; `touch(false)` stops that. */
export async function addAuthenticator(tab, kind = "passkeys") {
  const isPlatform = kind === "passkeys";
  const cdp = await tab.context().newCDPSession(tab);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: isPlatform ? "internal" : "usb",
      hasResidentKey: isPlatform,
      hasUserVerification: isPlatform,
      isUserVerified: isPlatform,
      automaticPresenceSimulation: true,
    },
  });
  return {
    credentials: async () => (await cdp.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
    touch: (enabled) => cdp.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled }),
    remove: () => cdp.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId }),
  };
}
