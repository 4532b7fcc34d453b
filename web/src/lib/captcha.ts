// The proof that no program fills in the form, where a project asks for one (client contract U12).
//
// Each submit asks for a token of its own, because a token counts once; a fresh widget is the reset.
// No token is kept: one that comes too late, or never, ends its submit with a word about it.
// The provider's script is loaded when it is first needed, and is the only foreign one on these pages.

import { Failure } from "./failure";
import { settings } from "./settings";

/** What a widget may call: once with a token, or when there will be none. */
type Callbacks = {
  callback: (token: string) => void;
  /** Says whether the page deals with it; otherwise the provider complains in the console. */
  "error-callback": () => true;
  "close-callback": () => void;
  "unsupported-callback": () => void;
  "expired-callback": () => void;
  "timeout-callback": () => void;
  "chalexpired-callback": () => void;
};

type Provider = {
  render: (place: HTMLElement, widget: { sitekey: string } & Callbacks) => string;
  execute: (id: string) => void;
  remove: (id: string) => void;
};

const providers = {
  hcaptcha: {
    script: "https://js.hcaptcha.com/1/api.js?render=explicit",
    widget: { size: "invisible" },
  },
  turnstile: {
    script: "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit",
    widget: {
      execution: "execute",
      appearance: "interaction-only",
      // Who starts again is whoever submits again, not the widget behind their back.
      retry: "never",
      "refresh-expired": "never",
      "refresh-timeout": "never",
    },
  },
} as const;

/** Where a page shows a puzzle, if there is one. */
export const captchaId = "captcha";

/** Ends the check that is running, of which there is at most one: the page has one place for it. */
let giveUp: ((failure: Failure) => void) | null = null;

/** What a call needs beside its own options: a token, or nothing where nobody asks for one. */
export async function captchaOption(): Promise<{ captchaToken?: string }> {
  if (!settings.captcha) return {};
  const { provider: name, key } = settings.captcha;
  const provider = await load(name);
  giveUp?.(new Failure("cancelled", "another check was started"));
  const place = document.getElementById(captchaId);
  if (!place) throw new Failure("captcha_failed", "there is no place for the check");
  let shown: string | undefined;
  let own: typeof giveUp = null;
  try {
    const captchaToken = await new Promise<string>((resolve, reject) => {
      own = giveUp = reject;
      shown = provider.render(place, {
        sitekey: key,
        ...answersTo(resolve, reject),
        ...providers[name].widget,
      });
      provider.execute(shown);
    });
    return { captchaToken };
  } catch (error) {
    throw error instanceof Failure ? error : new Failure("captcha_failed", String(error));
  } finally {
    if (giveUp === own) giveUp = null;
    // Solved or not: what is shown next belongs to another token.
    if (shown !== undefined) provider.remove(shown);
  }
}

function answersTo(resolve: (token: string) => void, reject: (failure: Failure) => void): Callbacks {
  const fail = () => reject(new Failure("captcha_failed", "the check did not finish"));
  const runOut = () => reject(new Failure("captcha_expired", "the check waited too long"));
  return {
    callback: resolve,
    "error-callback": () => {
      fail();
      return true;
    },
    "close-callback": fail,
    "unsupported-callback": fail,
    "expired-callback": runOut,
    "timeout-callback": runOut,
    "chalexpired-callback": runOut,
  };
}

const global = globalThis as unknown as Record<string, Provider | undefined>;

function load(name: keyof typeof providers): Promise<Provider> {
  const loaded = global[name];
  if (loaded) return Promise.resolve(loaded);
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = providers[name].script;
    script.addEventListener("error", () => {
      script.remove();
      reject(new Failure("captcha_failed", "the check could not be loaded"));
    });
    script.addEventListener("load", () => {
      const provider = global[name];
      if (provider) resolve(provider);
      else reject(new Failure("captcha_failed", "the check is not what it should be"));
    });
    document.head.append(script);
  });
}
