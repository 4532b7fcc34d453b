// The proof that no program fills in the form, where a project asks for one (client contract U12).
//
// Each submit asks for a token of its own, because a token counts once; a fresh widget is the reset.
// The provider's script is loaded when it is first needed, and is the only foreign one on these pages.

import { Failure } from "./failure";
import { settings } from "./settings";

type Widget = {
  sitekey: string;
  callback: (token: string) => void;
  "error-callback": () => void;
  "close-callback"?: () => void;
  size?: "invisible";
  execution?: "execute";
  appearance?: "interaction-only";
};

type Provider = {
  render: (place: HTMLElement, widget: Widget) => string;
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
    widget: { execution: "execute", appearance: "interaction-only" },
  },
} as const;

/** Where a page shows a puzzle, if there is one. */
export const captchaId = "captcha";

let shown: string | null = null;

/** What a call needs beside its own options: a token, or nothing where nobody asks for one. */
export async function captchaOption(): Promise<{ captchaToken?: string }> {
  if (!settings.captcha) return {};
  const { provider: name, key } = settings.captcha;
  const provider = await load(name);
  const place = document.getElementById(captchaId);
  if (!place) throw new Failure("captcha_failed", "there is no place for the check");
  if (shown !== null) provider.remove(shown);
  const captchaToken = await new Promise<string>((resolve, reject) => {
    const fail = () => reject(new Failure("captcha_failed", "the check did not finish"));
    shown = provider.render(place, {
      sitekey: key,
      callback: resolve,
      "error-callback": fail,
      "close-callback": fail,
      ...providers[name].widget,
    });
    provider.execute(shown);
  });
  return { captchaToken };
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
