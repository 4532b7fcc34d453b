// CAPTCHA tokens, for projects that require them (client contract U12).
//
// A token is valid once, so every submit renders a new widget and requests its own token. Tokens are not
// cached: if none arrives or it expires, the submit fails with an error.
// The provider's script is loaded on first use; it is the only third-party script of these pages.

import { Failure } from "../../lib/failure";
import { settings } from "./settings";

/** Widget callbacks: exactly one of them is called. */
type Callbacks = {
  callback: (token: string) => void;
  /** `true` marks the error as handled; otherwise the provider logs it to the console. */
  "error-callback": () => true;
  "close-callback": () => void;
  "unsupported-callback": () => void;
  "expired-callback": () => void;
  "timeout-callback": () => void;
  "chalexpired-callback": () => void;
};

type Provider = {
  render: (container: HTMLElement, widget: { sitekey: string } & Callbacks) => string;
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
      // A retry is a new submit by the user, never automatic.
      retry: "never",
      "refresh-expired": "never",
      "refresh-timeout": "never",
    },
  },
} as const;

/** Element id of the widget's container. */
export const captchaContainerId = "captcha";

/** Rejects the running check. There is at most one, because a page has one container. */
let cancelPending: ((failure: Failure) => void) | null = null;

/** Options to spread into an auth call: a token, or nothing if the project has no CAPTCHA. */
export async function captchaOption(): Promise<{ captchaToken?: string }> {
  if (!settings.captcha) return {};
  const { provider: name, key } = settings.captcha;
  const provider = await loadProvider(name);
  cancelPending?.(new Failure("cancelled", "another check was started"));
  const container = document.getElementById(captchaContainerId);
  if (!container) throw new Failure("captcha_failed", "the page has no captcha container");
  let widgetId: string | undefined;
  let own: typeof cancelPending = null;
  try {
    const captchaToken = await new Promise<string>((resolve, reject) => {
      own = cancelPending = reject;
      widgetId = provider.render(container, {
        sitekey: key,
        ...widgetCallbacks(resolve, reject),
        ...providers[name].widget,
      });
      provider.execute(widgetId);
    });
    return { captchaToken };
  } catch (error) {
    throw error instanceof Failure ? error : new Failure("captcha_failed", String(error));
  } finally {
    if (cancelPending === own) cancelPending = null;
    // The next submit renders its own widget.
    if (widgetId !== undefined) provider.remove(widgetId);
  }
}

function widgetCallbacks(resolve: (token: string) => void, reject: (failure: Failure) => void): Callbacks {
  const fail = () => reject(new Failure("captcha_failed", "the check did not finish"));
  const expire = () => reject(new Failure("captcha_expired", "the check expired"));
  return {
    callback: resolve,
    "error-callback": () => {
      fail();
      return true;
    },
    "close-callback": fail,
    "unsupported-callback": fail,
    "expired-callback": expire,
    "timeout-callback": expire,
    "chalexpired-callback": expire,
  };
}

const global = globalThis as unknown as Record<string, Provider | undefined>;

function loadProvider(name: keyof typeof providers): Promise<Provider> {
  const loaded = global[name];
  if (loaded) return Promise.resolve(loaded);
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = providers[name].script;
    script.addEventListener("error", () => {
      script.remove();
      reject(new Failure("captcha_failed", "the script could not be loaded"));
    });
    script.addEventListener("load", () => {
      const provider = global[name];
      if (provider) resolve(provider);
      else reject(new Failure("captcha_failed", "the script did not define its global"));
    });
    document.head.append(script);
  });
}
